package study

import (
	"fmt"
	"slices"
)

// CostByParts explains the cost of one mode by its parts. The modes are of the study, the
// baseline first: each adds a part to the one before it, and what a part costs is the
// difference of the two. Removals are modes that lack one part of the mode.
type CostByParts struct {
	Of       string
	Modes    []PartMode
	Removals []PartMode
	Within   *Within
	// Causes asks for the cause of the cost in words, which needs evidence besides the parts
	// where these are the differences of modes that are measured as they are.
	Causes bool
}

// Fields declares the keys of a CostByParts and their rules.
func (l *CostByParts) Fields() []Field {
	return []Field{
		required("of", nameOf(&l.Of), "the mode that is explained, by its name in results"),
		key("rungs", listOf(&l.Modes, "rung", "", false), "modes from the baseline up, each with one part more than the one before"),
		key("causes", truth(&l.Causes), "name the cause of the cost in words, for modes of which nothing can be left out"),
		key("within", optionalOf(&l.Within), "two modes within one host, which tell what is between the hosts from what is on each"),
		key("removals", listOf(&l.Removals, "removal", "", false), "modes that lack one part of the explained mode"),
	}
}

// Within names modes within one host: what Mode costs more than Baseline there. What Across, a mode,
// costs more than the explained mode's baseline beyond that is between the hosts.
type Within struct{ Baseline, Mode, Across string }

// Fields declares the keys of a Within and their rules.
func (w *Within) Fields() []Field {
	return []Field{
		required("baseline", nameOf(&w.Baseline), "a mode of this study within one host, without the parts"),
		required("mode", nameOf(&w.Mode), "a mode of this study within one host, with the parts"),
		required("across", nameOf(&w.Across), "the mode of this study with the same parts between two hosts"),
	}
}

// PartMode is a mode with the part that it adds or, for a removal, lacks. Rest
// marks a step that contains all that no part explains, and Beyond one that comes on top of
// the explained mode. Avoid says what to do to get the cost of the part back.
type PartMode struct {
	Mode, Part, Title, Avoid string
	Rest, Beyond             bool
}

// Fields declares the keys of a PartMode and their rules.
func (r *PartMode) Fields() []Field {
	return []Field{
		required("mode", nameOf(&r.Mode), "a mode of this study, by its name in results"),
		key("part", idText(&r.Part), "the part that it adds, or lacks; none for the baseline"),
		key("title", titleText(&r.Title), "what that part is"),
		key("avoid", titleText(&r.Avoid), "what to do to get its cost back"),
		key("rest", truth(&r.Rest), "the step is what no part explains"),
		key("beyond", truth(&r.Beyond), "the step comes on top of the explained mode"),
	}
}

// narrow removes the steps and removals whose mode is not among modes. It returns nil if
// nothing is left to explain.
func (l *CostByParts) narrow(modes []string) *CostByParts {
	if l == nil || !slices.Contains(modes, l.Of) {
		return nil
	}
	excluded := func(r PartMode) bool { return !slices.Contains(modes, r.Mode) }
	out := CostByParts{Of: l.Of, Causes: l.Causes, Modes: slices.DeleteFunc(slices.Clone(l.Modes), excluded), Removals: slices.DeleteFunc(slices.Clone(l.Removals), excluded)}
	if len(out.Modes) < 2 {
		return nil
	}
	if w := l.Within; w != nil && slices.Contains(modes, w.Baseline) && slices.Contains(modes, w.Mode) && slices.Contains(modes, w.Across) {
		out.Within = w
	}
	return &out
}

// costByParts checks what is asked of the parts of a mode: every name is a mode of the study, and the explained mode is one of the steps.
func (v *validator) costByParts(s Study) {
	if s.CostByParts == nil {
		return
	}
	const path = "ladder"
	v.all(s.CostByParts.Fields(), path+".")
	modes := named(s, v.cat)
	if v.lacks(path, "of", s.CostByParts.Of, "ladder without the explained mode") {
		return
	}
	v.among(path+".of", "mode", s.CostByParts.Of, modes, "modes")
	top := false
	for _, list := range []struct {
		key   string
		rungs []PartMode
	}{{"rungs", s.CostByParts.Modes}, {"removals", s.CostByParts.Removals}} {
		for i, r := range list.rungs {
			at := fmt.Sprintf("%s.%s[%d]", path, list.key, i)
			v.all(r.Fields(), at+".")
			if v.lacks(at, "mode", r.Mode, "rung without mode") {
				continue
			}
			v.among(at+".mode", "mode", r.Mode, modes, "modes")
			top = top || list.key == "rungs" && r.Mode == s.CostByParts.Of
		}
	}
	if w := s.CostByParts.Within; w != nil {
		at := path + ".within"
		v.all(w.Fields(), at+".")
		for _, m := range [][2]string{{"baseline", w.Baseline}, {"mode", w.Mode}, {"across", w.Across}} {
			if !v.lacks(at, m[0], m[1], "within without "+m[0]) {
				v.among(at+"."+m[0], "mode", m[1], modes, "modes")
			}
		}
	}
	if len(s.CostByParts.Modes) < 2 || !top {
		v.add(v.key(path, "rungs"), "a ladder has at least two rungs, and the explained mode %s is one of them", s.CostByParts.Of)
	}
}
