// Package setting applies the settings of a variant of a mode to a path that was built: each
// as a user would apply it, read back, and proven to be in effect by a counter during every
// trial. Drivers call [Apply] once their path is complete.
package setting

import (
	"slices"

	"tare/internal/driver"
	"tare/internal/study"
)

// Setting is one that any path of network namespaces accepts.
type Setting struct {
	Name   string // its key in a study's with
	Title  string // what it does, in a few words
	Values string // the valid values in words, such as "on or off"
	Valid  func(value string) bool
}

// All lists the settings. Each has a page in docs/settings.
func All() []Setting { return nil }

// Names lists the names of all settings, for a mode that accepts them.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// SpecsOf lists what a mode's with accepts: the parts that can be left out, then settings.
func SpecsOf(m driver.Mode) []study.SettingSpec {
	var out []study.SettingSpec
	for _, p := range m.Parts {
		out = append(out, study.SettingSpec{Name: p.ID, Values: driver.Off, Valid: func(v string) bool { return v == driver.Off }})
	}
	for _, s := range All() {
		if slices.Contains(m.Settings, s.Name) {
			out = append(out, study.SettingSpec{Name: s.Name, Values: s.Values, Valid: s.Valid})
		}
	}
	return out
}
