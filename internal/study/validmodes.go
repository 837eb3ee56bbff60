package study

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tare/internal/study/suggest"
)

// UserName is the pattern for NAME in a mode's id: the names that Docker allows for
// networks and plugin drivers, and paths of files.
const UserName = `(?:\.{0,2}/)?[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}`

// MaxOptions and the lengths below bound the options of a mode; an engine would accept
// more.
const (
	MaxOptions    = 100
	maxOptionName = 200
	maxOptionText = 4096
)

func (v *validator) modes(modes []Mode) {
	first := map[string]string{}
	for i, m := range modes {
		path := fmt.Sprintf("modes[%d]", i)
		if !v.readable(path) || !v.readable(path+".mode") {
			continue
		}
		v.all(m.Fields(), path+".")
		if problem := v.unknownMode(m.Mode); problem != "" {
			at := v.key(path, "mode")
			if m.Mode == "" && at == path && m.ID != "" {
				problem = "mode without a name; want the key mode"
			}
			v.add(at, "%s", problem)
			continue
		}
		if spec, _ := v.cat.Mode(m.Mode); spec.Absent != "" {
			if v.src == nil { // the command line may still replace the modes of the file
				v.add(path, "%s: %s", m.Mode, spec.Absent)
			}
			continue
		}
		v.takes(path, m)
		at := path
		if m.ID != "" {
			at = path + ".id"
			if _, taken := v.cat.Mode(m.ID); taken && m.ID != m.Mode {
				v.add(at, "id %q is the name of another mode; choose another id", m.ID)
			}
		}
		if before, again := first[m.Name()]; again {
			v.add(at, "duplicate mode %q%s%s", m.Name(), v.already(before), ownID(v, path))
			continue
		}
		first[m.Name()] = at
	}
}

// ownID is the advice for a mode that appears twice; two plain names are a mistake.
func ownID(v *validator, path string) string {
	if v.key(path, "mode") == path {
		return ""
	}
	return "; give one of them another id"
}

// unknownMode returns what is wrong with a mode's name, empty if nothing is.
func (v *validator) unknownMode(mode string) string {
	spec, ok := v.cat.Mode(mode)
	if !ok {
		for _, m := range v.cat.Modes {
			if bare := strings.TrimSuffix(m.ID, anyName); bare != m.ID && bare == strings.TrimSuffix(mode, ":") {
				return fmt.Sprintf("mode %s lacks a name: write %s with your name instead of NAME", suggest.Quote(mode), m.ID)
			}
		}
		return suggest.Unknown("mode", mode, "", v.cat.modeIDs())
	}
	if prefix, open := strings.CutSuffix(spec.ID, anyName); open {
		if name := strings.TrimPrefix(mode, prefix+":"); !regexp.MustCompile(`^` + UserName + `$`).MatchString(name) {
			return fmt.Sprintf("mode %s has an invalid name; want letters, digits, _, ., -, / or :, starting with a letter or digit, or with /, ./ or ../ before these", suggest.Quote(mode))
		}
	}
	return ""
}

// takes checks the settings of a mode.
func (v *validator) takes(path string, m Mode) {
	spec, _ := v.cat.Mode(m.Mode)
	v.limits(m.Limits, path+".limits.")
	for _, end := range []struct {
		key        string
		takes, say bool
	}{{"client", spec.Limits.Client, m.Limits.Client != (Limit{})}, {"server", spec.Limits.Server, m.Limits.Server != (Limit{})}} {
		if end.say && !end.takes {
			v.add(v.key(v.key(path, "limits"), end.key), "%s does not support limits of the %s, which only an engine can apply to its containers", m.Mode, end.key)
		}
	}
	if m.MTU != 0 && !spec.MTU {
		v.add(v.key(path, "mtu"), "%s does not support mtu; %s", m.Mode, orElse(suggest.Either(v.taking(func(s Offer) bool { return s.MTU })), "no mode here", " does"))
	}
	v.engine(path, m, spec)
	v.with(path, m, spec)
	if len(m.Options) == 0 {
		return
	}
	at := v.key(path, "options")
	if !spec.Options {
		v.add(at, "%s does not support options; %s", m.Mode, orElse(suggest.Either(v.taking(func(s Offer) bool { return s.Options })), "no mode here", " does"))
	}
	if len(m.Options) > MaxOptions {
		v.add(at, "%d options; want at most %d", len(m.Options), MaxOptions)
	}
	for _, name := range sortedKeys(m.Options) {
		if !plainText(name, maxOptionName) || name == "" {
			v.add(v.key(at, name), "option %s; want 1 to %d characters without control characters", suggest.Quote(name), maxOptionName)
		} else if !plainText(m.Options[name], maxOptionText) {
			v.add(v.key(at, name), "option %s is %s; want at most %d characters without control characters", suggest.Quote(name), suggest.Quote(m.Options[name]), maxOptionText)
		}
	}
}

// engine checks the private engine of a mode.
func (v *validator) engine(path string, m Mode, spec Offer) {
	if m.Engine == (Engine{}) {
		return
	}
	at := v.key(path, "engine")
	v.all(m.Engine.Fields(), at+".")
	if !spec.Engine {
		v.add(at, "%s does not support engine, which chooses the private Docker Engine of a docker mode in a lab", m.Mode)
	}
}

// with checks the settings of a variant of a mode.
func (v *validator) with(path string, m Mode, spec Offer) {
	at := v.key(path, "with")
	for _, name := range sortedKeys(m.With) {
		i := slices.IndexFunc(spec.With, func(s SettingSpec) bool { return s.Name == name })
		switch {
		case len(spec.With) == 0:
			v.add(at, "%s has no settings", m.Mode)
			return
		case i < 0:
			v.add(v.key(at, name), "%s", suggest.Unknown("setting of "+m.Mode, name, "", spec.settings()))
		case !spec.With[i].Valid(m.With[name]):
			v.add(v.key(at, name), "%s is %s; want %s", name, suggest.Quote(m.With[name]), spec.With[i].Values)
		case spec.With[i].Needs != "" && m.With[spec.With[i].Needs] == "":
			v.add(v.key(at, name), "%s has no effect without %s; set it too", name, spec.With[i].Needs)
		case spec.With[i].Conflict != nil && spec.With[i].Conflict(m.With) != "":
			v.add(v.key(at, name), "%s: %s %s", name, m.With[name], spec.With[i].Conflict(m.With))
		}
	}
}

// settings lists the names of the mode's settings.
func (m Offer) settings() (names []string) {
	for _, s := range m.With {
		names = append(names, s.Name)
	}
	return names
}

// taking lists the modes that accept a setting.
func (v *validator) taking(takes func(Offer) bool) (ids []string) {
	for _, m := range v.cat.Modes {
		if takes(m) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// limits checks the limits of both endpoints; prefix is their path and a dot.
func (v *validator) limits(l Limits, prefix string) {
	v.all(l.Client.Fields(), prefix+"client.")
	v.all(l.Server.Fields(), prefix+"server.")
}

// plainText reports whether s is one line of printable text of at most most characters.
func plainText(s string, most int) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= most && regexp.MustCompile(`^[^\x00-\x1f\x7f-\x9f]*$`).MatchString(s)
}

func orElse(s, other, rest string) string {
	if s == "" {
		s = other
	}
	return s + rest
}

// tunnelMTUs checks that a mode's software and the underlay of a lab can carry packets of its MTU.
func (v *validator) tunnelMTUs(s Study) {
	if s.Target().Given() {
		return
	}
	for i, m := range s.Modes {
		spec, known := v.cat.Mode(m.Mode)
		if !known || m.MTU == 0 {
			continue
		}
		at := v.key(fmt.Sprintf("modes[%d]", i), "mtu")
		lab := cmp.Or(s.LabOf(m).MTU, labDefaults().MTU)
		switch most := lab - spec.Headers; {
		case spec.MaxMTU > 0 && m.MTU > spec.MaxMTU && most >= spec.MaxMTU:
			v.add(at, "mtu is %d, but %s carries packets of at most %d bytes; want at most %d", m.MTU, m.Mode, spec.MaxMTU, spec.MaxMTU)
		case m.MTU <= most || spec.Headers == 0 && !spec.Bounded:
		case spec.Headers == 0:
			v.add(at, "mtu is %d in %s, but that of the underlay is %d; want at most %d, or raise mtu under lab", m.MTU, m.Mode, lab, most)
		default:
			v.add(at, "mtu is %d inside %s, which adds %d bytes, but that of the underlay is %d; want at most %d, or raise mtu under lab", m.MTU, m.Mode, spec.Headers, lab, most)
		}
	}
}
