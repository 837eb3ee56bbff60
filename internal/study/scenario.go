package study

import "strings"

// Scenario is a name for one mode under one workload, as published studies use it.
type Scenario struct {
	ID, Title, Description, Mode, Workload string
}

// Fields declares the keys of a Scenario and their rules.
func (s *Scenario) Fields() []Field {
	return []Field{
		required("id", idText(&s.ID), "name in results and under compare, such as a"),
		key("title", titleText(&s.Title), "one line for the report"),
		key("description", descriptionText(&s.Description), "what it measures and why"),
		required("mode", nameOf(&s.Mode), "a mode of this study, by its name in results"),
		required("workload", nameOf(&s.Workload), "a workload of this study, by its name in results"),
	}
}

// Comparison requests the ratio of A to B. Both sides are scenarios or modes, or both are
// ratios of two of them; modes are compared under every workload.
type Comparison struct {
	ID, Title string
	A, B      Side
	Expect    float64
}

// Fields declares the keys of a Comparison and their rules.
func (c *Comparison) Fields() []Field {
	return []Field{
		key("id", idText(&c.ID), "name in results; A/B when absent"),
		key("title", titleText(&c.Title), "one line for the report"),
		required("a", SideValue{held[Side]{&c.A}}, "first side: a scenario or a mode, or two of them for the ratio of the first to the second"),
		required("b", SideValue{held[Side]{&c.B}}, "second side: another scenario or mode, or a ratio of two"),
		key("expect", fraction(&c.Expect, 0.001, 1000), "expected ratio of a to b, with which the result is compared; 1 when absent"),
	}
}

// Side is one side of a comparison: the entry named Of, or its ratio to the entry named
// Over.
type Side struct{ Of, Over string }

// SideOf is a side with one name.
func SideOf(name string) Side { return Side{Of: name} }

// IsRatio reports whether the side is a ratio of two.
func (s Side) IsRatio() bool { return s.Over != "" }

// Names lists the one or two names of the side.
func (s Side) Names() []string {
	if s.Over == "" {
		return []string{s.Of}
	}
	return []string{s.Of, s.Over}
}

// String names the side: D, or D/C, with spaces around the slash between names that
// contain one.
func (s Side) String() string { return ratio(s.Names()...) }

// Name is the comparison's name in results: its id, or the two sides, D/B or (D/C)/(B/A);
// with spaces around the slash between names that contain one.
func (c Comparison) Name() string {
	if c.ID != "" {
		return c.ID
	}
	names := make([]string, 0, 2)
	for _, s := range []Side{c.A, c.B} {
		if s.IsRatio() {
			names = append(names, "("+s.String()+")")
		} else {
			names = append(names, s.Of)
		}
	}
	if c.A.IsRatio() && c.B.IsRatio() && !strings.Contains(c.A.String()+c.B.String(), " ") {
		return names[0] + "/" + names[1]
	}
	return ratio(names...)
}

// ratio names a ratio of names.
func ratio(names ...string) string {
	if strings.Contains(strings.Join(names, ""), "/") {
		return strings.Join(names, " / ")
	}
	return strings.Join(names, "/")
}

// Scenario finds a scenario by its id.
func (s Study) Scenario(id string) (Scenario, bool) {
	for _, sc := range s.Scenarios {
		if sc.ID == id {
			return sc, true
		}
	}
	return Scenario{}, false
}
