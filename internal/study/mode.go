package study

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/study/quantity"
)

// Mode is one mode to measure: what is built, its name, and its settings for the engine
// that builds it. The same mode may appear twice in a study, under two ids.
type Mode struct {
	ID, Mode, Title, Description string
	Options, With                map[string]string
	MTU                          int
	Limits                       Limits
	Lab                          *Lab
	Engine                       Engine
}

// Fields declares the keys of a mode and their rules.
func (m *Mode) Fields() []Field {
	return []Field{
		key("id", idText(&m.ID), "name in results; the mode's own when absent"),
		required("mode", nameOf(&m.Mode), "which mode"),
		key("title", titleText(&m.Title), "one line for the report, instead of the mode's own"),
		key("description", descriptionText(&m.Description), "its purpose in this study"),
		key("options", Texts{held[map[string]string]{&m.Options}}, "options for the network's driver, as for docker network create --opt"),
		key("with", Texts{held[map[string]string]{&m.With}}, "settings of this variant of the mode, and the parts that are left out, each off; tare modes MODE lists them"),
		key("mtu", mtu(&m.MTU), "MTU inside the mode's tunnel in bytes; the mode's own when absent"),
		key("limits", sectionOf(&m.Limits), "resource limits of the sandboxes of this mode, instead of the study's"),
		key("lab", optionalOf(&m.Lab), "the lab of this mode, if it differs from the study's"),
		key("engine", sectionOf(&m.Engine), "the private Docker Engine that builds this mode, if it is not the packaged one with its defaults"),
	}
}

// Name is the mode's name in results and on the command line: its id, or the mode itself
// without one.
func (m Mode) Name() string { return cmp.Or(m.ID, m.Mode) }

// ModesOf returns modes that have no settings except their names.
func ModesOf(names ...string) []Mode {
	modes := make([]Mode, 0, len(names))
	for _, n := range names {
		modes = append(modes, Mode{Mode: n})
	}
	return modes
}

// ModeNames lists the modes under their names in results.
func (s Study) ModeNames() []string {
	names := make([]string, 0, len(s.Modes))
	for _, m := range s.Modes {
		names = append(names, m.Name())
	}
	return names
}

// ModeNamed finds a mode by its name in results.
func (s Study) ModeNamed(name string) (Mode, bool) {
	i := slices.IndexFunc(s.Modes, func(m Mode) bool { return m.Name() == name })
	if i < 0 {
		return Mode{}, false
	}
	return s.Modes[i], true
}

// NameOf is the name in results of the study's entry for a mode that others are compared
// with: the mode under its own name, or the first entry under another. It is empty for an
// empty mode, and the mode itself if the study does not contain it.
func (s Study) NameOf(mode string) string {
	if _, own := s.ModeNamed(mode); own {
		return mode
	}
	for _, m := range s.Modes {
		if m.Mode == mode {
			return m.Name()
		}
	}
	return mode
}

// BaselineOf is the name in results of the mode that m is compared with, if its driver
// compares m.Mode with baseline: empty for a mode that is a baseline itself. If the study
// has the baseline on several labs, that on m's own lab is chosen. A second entry of a
// baseline, such as the control or one on a slower lab, is compared with the first.
func (s Study) BaselineOf(m Mode, baseline string) string {
	if baseline != "" {
		name := s.NameOf(baseline)
		if first, in := s.ModeNamed(name); !in || s.LabOf(first) == s.LabOf(m) {
			return name
		}
		for _, other := range s.Modes {
			if other.Mode == baseline && s.LabOf(other) == s.LabOf(m) {
				return other.Name()
			}
		}
		return name
	}
	if first := s.NameOf(m.Mode); first != m.Name() {
		return first
	}
	return ""
}

// LabOf is the lab of m: its own, or the study's.
func (s Study) LabOf(m Mode) Lab {
	if m.Lab != nil {
		return m.Lab.or(s.Lab)
	}
	return s.Lab
}

// or fills what l leaves open from def.
func (l Lab) or(def Lab) Lab {
	return Lab{MTU: cmp.Or(l.MTU, def.MTU), Rate: cmp.Or(l.Rate, def.Rate), Offload: cmp.Or(l.Offload, def.Offload)}
}

// anyName is the suffix of the id of a mode that accepts any name in that place, such as
// docker/network:NAME.
const anyName = ":NAME"

// OpenName is the part before the user's name in the id of a mode that requires one.
func OpenName(id string) (prefix string, open bool) { return strings.CutSuffix(id, anyName) }

// Fits reports whether the id of a mode in a study matches id: it is equal, or has a
// user's name in that place.
func Fits(id, named string) bool {
	prefix, open := OpenName(id)
	if !open {
		return id == named
	}
	name, ok := strings.CutPrefix(named, prefix+":")
	return ok && name != ""
}

// Asks reports whether a mode's id requires a name in its last part, and therefore cannot
// be built without it.
func Asks(id string) bool { return strings.HasSuffix(id, anyName) }

// Limits bound the resources of the sandboxes of the two endpoints. The engine applies
// them; a zero value is no limit.
type Limits struct {
	Client, Server Limit
}

// Fields declares the keys of a Limits and their rules.
func (l *Limits) Fields() []Field {
	return []Field{
		key("client", sectionOf(&l.Client), "limits of the client's sandbox"),
		key("server", sectionOf(&l.Server), "limits of the server's sandbox"),
	}
}

// Or fills what l leaves open from def.
func (l Limits) Or(def Limits) Limits {
	return Limits{Client: l.Client.or(def.Client), Server: l.Server.or(def.Server)}
}

// Ends says to which endpoints of a mode something applies.
type Ends struct{ Client, Server bool }

// Only returns the limits of the given endpoints.
func (l Limits) Only(ends Ends) Limits {
	if !ends.Client {
		l.Client = Limit{}
	}
	if !ends.Server {
		l.Server = Limit{}
	}
	return l
}

// Limit bounds one sandbox.
type Limit struct {
	CPUs   float64
	Memory quantity.Size
}

// Fields declares the keys of a Limit and their rules.
func (l *Limit) Fields() []Field {
	return []Field{
		key("cpus", fraction(&l.CPUs, 0.01, 1024), "CPUs, such as 0.5"),
		key("memory", size(&l.Memory, 6<<20, 1<<40), "memory, such as 64MiB"),
	}
}

// String writes a limit for readers: 0.5 CPUs, 64MiB.
func (l Limit) String() string {
	var parts []string
	switch {
	case l.CPUs == 1:
		parts = append(parts, "1 CPU")
	case l.CPUs > 0:
		parts = append(parts, strconv.FormatFloat(l.CPUs, 'f', -1, 64)+" CPUs")
	}
	if l.Memory > 0 {
		parts = append(parts, l.Memory.String())
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func (l Limit) or(def Limit) Limit {
	return Limit{CPUs: cmp.Or(l.CPUs, def.CPUs), Memory: cmp.Or(l.Memory, def.Memory)}
}
