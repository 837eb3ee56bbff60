// Package cni builds modes with any plugins of the Container Network Interface, without
// Kubernetes: on the hosts of a lab it executes the plugins of a network configuration list
// as a container engine does, with libcni, and declares what the devices that appeared must
// show.
package cni

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
)

// Command is the hidden subcommand under which this program executes plugins on a host.
const Command = "cni"

// The modes, each with the name of a network or the path of a conflist as its parameter.
const (
	network   = "cni/network"
	published = "cni/published"
	colocated = "cni/colocated"
)

// The options of a mode.
const (
	optionPlugins = "plugins"    // directories of the plugins, as in CNI_PATH
	optionOther   = "conflist-b" // conflist of host b, if it is not that of host a
	optionFlannel = "flannel"    // backend of a flanneld that is started on each host
)

// StateDir is where CNI keeps state by convention: addresses that are in use, the results of
// libcni, and more. Plugins find a private one.
const StateDir = "/var/lib/cni"

// setupTime is roughly how long setting up and removing a mode takes: plugins are started
// a dozen times.
const setupTime = 700 * time.Millisecond

// Driver builds the modes of this package.
type Driver struct {
	labdriver.LinuxOnly
	// Trusted are files and directories that the user has named outside a study. A study can be
	// a stranger's, and plugins are executed with the user's rights: what it names must be
	// below one of these, or below one of the directories of NETCONFPATH and CNI_PATH.
	Trusted []string
	// limit is how long a plugin may take, and within how long datagrams may take to cross a path; 0 is pluginTimeout, or crossTimeout. Tests
	// shorten them where they are waited for.
	limit, within time.Duration
}

// rows are the modes of this package, each with its kind: the mode without its parameter.
func rows() labdriver.Rows[string] {
	row := func(kind, title, baseline string) labdriver.Row[string] {
		return labdriver.Row[string]{Mode: driver.Mode{ID: kind + ":NAME", Title: title, Baseline: baseline, Options: true, SetupTime: setupTime, TimesSetup: true}, Build: kind}
	}
	return labdriver.Rows[string]{
		row(network, "both endpoints in sandboxes that CNI plugins connect, on two hosts", "host"),
		row(published, "raw client, server in a sandbox that CNI plugins connect, behind a published port", "host"),
		row(colocated, "both endpoints in sandboxes that CNI plugins connect, on one host", "host-local"),
	}
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode { return rows().Modes() }

// The environment variables that cnitool reads, too, with their defaults.
const (
	pathVariable   = "CNI_PATH"
	configVariable = "NETCONFPATH"
	configDefault  = "/etc/cni/net.d"
)

// configDirs returns the directories in which networks are looked up by name.
func configDirs() []string {
	return absolute(filepath.SplitList(cmp.Or(os.Getenv(configVariable), configDefault)))
}

// pluginDirs returns the directories in which plugins are searched unless a mode names others:
// those of CNI_PATH, or where distributions install plugins.
func pluginDirs() []string {
	return absolute(filepath.SplitList(cmp.Or(os.Getenv(pathVariable), "/opt/cni/bin:/usr/lib/cni:/usr/libexec/cni")))
}

func absolute(dirs []string) (out []string) {
	for _, d := range dirs {
		if abs, err := filepath.Abs(d); err == nil && d != "" {
			out = append(out, abs)
		}
	}
	return out
}

// pluginDirs returns the directories of a mode's plugins: those of its option, or all.
func (d Driver) pluginDirs(options map[string]string) ([]string, error) {
	option, given := options[optionPlugins]
	if !given {
		return pluginDirs(), nil
	}
	dirs := absolute(filepath.SplitList(option))
	for _, dir := range dirs {
		if !d.trusts(dir, pluginDirs()) {
			return nil, fmt.Errorf("the option %s names %s, which is not in %s (%s): a study must not choose which programs are executed; add the directory there", optionPlugins, dir, pathVariable, strings.Join(pluginDirs(), ":"))
		}
	}
	return dirs, nil
}

// trusts reports whether the user has named a path, or a directory above it, outside a study.
func (d Driver) trusts(path string, dirs []string) bool {
	abs, err := filepath.Abs(path)
	return err == nil && below(abs, append(absolute(d.Trusted), dirs...)...)
}

// below reports whether a path is one of the directories or below one.
func below(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	})
}

// Describe says which plugins a mode executes, for what is shown before a run. Options are
// those of the mode.
func (d Driver) Describe(mode string, options map[string]string) string {
	_, name, _ := strings.Cut(mode, ":")
	c, err := d.load(name, values{})
	var dirs []string
	if err == nil {
		dirs, err = d.pluginDirs(options)
	}
	if err != nil {
		return mode + ": " + err.Error()
	}
	var names []string
	for _, p := range c.plugins {
		names = append(names, slices.DeleteFunc([]string{p.Type, p.IPAM.Type}, func(s string) bool { return s == "" })...)
	}
	text := mode + " (" + c.source + "): " + strings.Join(names, ", ") + " of " + strings.Join(dirs, ":")
	if options[optionFlannel] != "" {
		text += "; etcd and flanneld of PATH"
	}
	return text
}
