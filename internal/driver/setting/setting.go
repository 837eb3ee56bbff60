// Package setting applies the settings of a variant of a mode to a path that was built: each
// as a user would apply it, read back, and proven to be in effect by a counter during every
// trial where one exists. Drivers call Apply once their path is complete.
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

// The values of a switch.
const (
	on  = "on"
	off = driver.Off
)

// The names of the settings.
const (
	nameTSO      = "tso"
	nameGRO      = "gro"
	nameBridgeNF = "bridge_nf"
)

// All lists the settings in the order in which they are applied. Each has a page in
// docs/settings.
func All() []Setting {
	return []Setting{
		{nameTSO, "the device segments TCP packets above the MTU", onOrOff, isSwitch},
		{nameGRO, "generic receive offload, which needs NAPI on a veth", onOrOff, isSwitch},
		{nameBridgeNF, "bridged frames traverse the IP hooks of netfilter (br_netfilter)", onOrOff, isSwitch},
	}
}

const onOrOff = "on or off"

func isSwitch(v string) bool { return v == on || v == off }

// Named returns a setting by its name.
func Named(name string) (Setting, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return all[i], true
}

// Names lists the names of all settings, for a mode that accepts them.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// SpecsOf lists what a mode's with accepts: the parts that can be left out, then settings, then the
// mode's own.
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
	for _, s := range m.Own {
		out = append(out, s.SettingSpec)
	}
	return out
}
