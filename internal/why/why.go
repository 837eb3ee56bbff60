// Package why builds the study that explains the cost of a mode by its parts: modes that
// differ by one part each, from the baseline up to the mode, and the mode without each part.
package why

import (
	"fmt"
	"maps"
	"slices"

	"tare/internal/driver"
	"tare/internal/study"
)

// Modes are where the modes of a study are found.
type Modes struct {
	// Here are the drivers that build them.
	Here driver.Registry
	// Labs are the modes of all labs, also where Here builds other ones: which of them explains a mode.
	Labs []driver.Mode
}

// named finds a mode by its id, which may have a parameter.
func (m Modes) named(id string) (driver.Mode, error) {
	_, found, err := m.Here.For(id)
	return found, err
}

// explaining finds the mode of a lab whose parts explain the cost of another one.
func (m Modes) explaining(mode string) (id string, has bool) {
	i := slices.IndexFunc(m.Labs, func(lab driver.Mode) bool { return lab.Explains && lab.Like == mode })
	if i < 0 {
		return "", false
	}
	return m.Labs[i].ID, true
}

// engine is the part that stands for everything that an engine adds to the embedded mode
// with the same devices and that no part of its mode names.
const engine = "engine"

// onTop are settings that most hosts have and a lab does not: each is a step beyond the mode.
func onTop() []study.PartMode {
	return []study.PartMode{{Part: "bridge_nf", Title: "bridged packets pass iptables (br_netfilter), as on most hosts with an engine; a lab turns it off",
		Avoid: "turn it off (net.bridge.bridge-nf-call-iptables=0), if no rule or policy is for packets within a bridge", Beyond: true}}
}

// Options change what is explained.
type Options struct {
	// CPULimit is a limit on the CPUs of the endpoints that can have one, as one more step. 0
	// is none.
	CPULimit float64
	// Injected are the containers that the cluster adds to pods unless these ask for none, by name and image, as one more step.
	Injected []string
}

// Study returns the study that explains a mode. Errors: the mode is unknown, it is a baseline,
// or its endpoints can have no limit.
func Study(modes Modes, mode string, o Options) (study.Study, error) {
	m, err := modes.named(mode)
	if err != nil {
		return study.Study{}, err
	}
	if m.Baseline == "" {
		return study.Study{}, fmt.Errorf("%s is a baseline: it has no cost to explain; name a mode that is compared with it", mode)
	}
	if o.CPULimit > 0 && m.Limits == (study.Ends{}) {
		return study.Study{}, fmt.Errorf("the endpoints of %s can have no CPU limit; name a mode with pods or containers", mode)
	}
	b := builder{modes: modes, costByParts: study.CostByParts{Of: mode}, injected: o.Injected}
	if base, err := modes.named(m.Baseline); err != nil || !base.Options {
		b.add(&b.costByParts.Modes, m.Baseline, m.Baseline, nil, study.PartMode{})
	} else {
		b.add(&b.costByParts.Modes, b.plain(m.Baseline), m.Baseline, nil, study.PartMode{})
	}
	known := b.cluster(m)
	switch {
	case known:
	case len(m.PartModes) > 0:
		b.declared(m)
	default:
		if err := b.climb(m); err != nil {
			return study.Study{}, err
		}
	}
	switch {
	case len(b.injected) == 0:
	case throughSidecars(m.ID):
		b.sidecars(m)
	default:
		b.costByParts.Of = b.plain(mode)
	}
	for _, r := range onTop() {
		bridged := slices.ContainsFunc(b.costByParts.Modes, func(r study.PartMode) bool { return r.Part == "bridge" })
		if bridged && slices.Contains(m.Settings, r.Part) {
			b.add(&b.costByParts.Modes, "and-"+r.Part, mode, map[string]string{r.Part: study.On}, r)
		}
	}
	for _, p := range m.Parts {
		b.add(&b.costByParts.Removals, "no-"+p.ID, mode, without(p), study.PartMode{Part: p.ID, Title: p.Title, Avoid: p.Avoid})
	}
	text := "Each rung of the ladder adds one part of " + mode + " to the one before; each removal is " + mode + " without one part."
	if len(m.PartModes) > 0 {
		text = "Each rung of the ladder has one part more than the one before, up to " + mode + " and beyond it."
	}
	if known {
		text = "Each rung of the ladder is a path of the cluster that has one part more than the one before; a removal is a path with one part less than " + mode + "."
	}
	if b.costByParts.Of != mode {
		text += " All is without the containers that the cluster injects, through which the mode is not measured."
	}
	if o.CPULimit > 0 {
		b.limited(m, o.CPULimit)
	}
	return study.Study{Name: "why", Title: "What the parts of " + mode + " cost", CostByParts: &b.costByParts, Modes: b.study, Description: text}, nil
}

// builder collects the modes of a study, each variant once.
type builder struct {
	modes       Modes
	study       []study.Mode
	costByParts study.CostByParts
	injected    []string // containers that the modes that are added have not, though the cluster adds them by itself
}

// declared adds the modes that the mode itself names. Those behind it are on top of it.
func (b *builder) declared(m driver.Mode) {
	beyond := false
	for _, r := range m.PartModes {
		id := r.Mode
		if r.With != nil {
			id = "and-" + r.ID
		}
		b.add(&b.costByParts.Modes, id, r.Mode, r.With, study.PartMode{Part: r.ID, Title: r.Title, Avoid: r.Avoid, Beyond: beyond})
		beyond = beyond || r.Mode == m.ID && r.With == nil
	}
}

// climb adds the modes above the baseline up to a mode.
func (b *builder) climb(m driver.Mode) error {
	below, has := b.modes.explaining(m.ID)
	if !has {
		b.parts(m, m.Parts)
		return nil
	}
	under, err := b.modes.named(below)
	if err != nil {
		return err
	}
	b.parts(under, under.Parts)
	own := slices.DeleteFunc(slices.Clone(m.Parts), func(p driver.Part) bool {
		return slices.ContainsFunc(under.Parts, func(u driver.Part) bool { return u.ID == p.ID })
	})
	rest := study.PartMode{Part: engine, Title: "what the engine adds and no part names", Rest: true}
	if len(own) == 0 {
		b.add(&b.costByParts.Modes, m.ID, m.ID, nil, rest)
		return nil
	}
	b.add(&b.costByParts.Modes, "upto-"+engine, m.ID, without(own...), rest)
	b.parts(m, own)
	return nil
}

// parts adds a mode for each part of one, the last of which is the mode itself. A mode
// without parts is added alone.
func (b *builder) parts(m driver.Mode, parts []driver.Part) {
	if len(parts) == 0 {
		b.add(&b.costByParts.Modes, b.plain(m.ID), m.ID, nil, study.PartMode{Part: "mode", Title: m.Title, Rest: true})
	}
	for i, p := range parts {
		id, off := "upto-"+p.ID, without(parts[i+1:]...)
		if off == nil {
			id = m.ID
		}
		b.add(&b.costByParts.Modes, id, m.ID, off, study.PartMode{Part: p.ID, Title: p.Title, Avoid: p.Avoid})
	}
}

// add adds a mode to a list, with its mode unless the study has this variant already.
func (b *builder) add(to *[]study.PartMode, id, mode string, with map[string]string, r study.PartMode) {
	own := b.variant(id, mode, with)
	i := slices.IndexFunc(b.study, func(m study.Mode) bool {
		return m.Mode == mode && maps.Equal(m.With, with) && maps.Equal(m.Options, own.Options)
	})
	if i < 0 {
		i = len(b.study)
		b.study = append(b.study, own)
	}
	r.Mode = b.study[i].Name()
	*to = append(*to, r)
}

// variant is a mode of the study under an id of its own, unless that is its mode.
func (b *builder) variant(id, mode string, with map[string]string) study.Mode {
	own := study.Mode{Mode: mode, With: with}
	if m, err := b.modes.named(mode); err == nil && m.Options && len(b.injected) > 0 {
		own.Options = map[string]string{sidecars: driver.Off}
	}
	if id != mode {
		own.ID = b.unused(id)
	}
	return own
}

// unused is an id that no mode of the study has.
func (b *builder) unused(id string) string {
	for n, name := 2, id; ; n++ {
		if !slices.ContainsFunc(b.study, func(m study.Mode) bool { return m.Name() == name }) {
			return name
		}
		name = fmt.Sprintf("%s-%d", id, n)
	}
}

// without are the settings that leave parts out, nil for none.
func without(parts ...driver.Part) map[string]string {
	var out map[string]string
	for _, p := range parts {
		if out == nil {
			out = map[string]string{}
		}
		out[p.ID] = driver.Off
	}
	return out
}
