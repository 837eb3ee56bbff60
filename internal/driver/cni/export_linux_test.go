package cni

import "time"

// Limited is a driver whose plugins may take at most so long, and datagrams at most within to cross a path; 0 is the default.
func Limited(d Driver, limit, within time.Duration) Driver {
	d.limit, d.within = limit, within
	return d
}

// Values are the values of placeholders.
type Values = values

// ParseConflist parses a conflist and returns its name and the types of its plugins, empty where
// one has no ipam.
func ParseConflist(text []byte, v Values) (name string, plugins []string, err error) {
	c, err := parse("test", text, v)
	for _, p := range c.plugins {
		plugins = append(plugins, p.Type, p.IPAM.Type)
	}
	return c.name, plugins, err
}

// PluginError is the error of a plugin that has failed.
func PluginError(stdout []byte, stderr string, exit error) error {
	return pluginError(stdout, stderr, exit)
}

// Span is an element of Values.Underlay.
type Span = span

// Fill fills in the placeholders of a text.
func Fill(text string, v Values) (string, error) {
	out, err := fill("test", text, v)
	return string(out), err
}
