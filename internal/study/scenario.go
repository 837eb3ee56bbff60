package study

import "strings"

// Scenario names one mode under one workload, as published studies do.
type Scenario struct {
	ID          string `yaml:"id" json:"id" jsonschema:"name in results and under compare, such as a"`
	Title       string `yaml:"title,omitempty" json:"title,omitempty" jsonschema:"one line for the report"`
	Description string `yaml:"description,omitempty" json:"description,omitempty" jsonschema:"what is built and driven, and what it is to show"`
	Mode        string `yaml:"mode" json:"mode" jsonschema:"a mode of this study, by its name in results"`
	Workload    string `yaml:"workload" json:"workload" jsonschema:"a workload of this study, by its name in results"`
}

// Comparison puts A beside B and asks for A's ratio to B. Both are scenarios, or
// both are modes; modes are compared under every workload.
type Comparison struct {
	ID    string `yaml:"id,omitempty" json:"id,omitempty" jsonschema:"name in results; A/B when absent"`
	Title string `yaml:"title,omitempty" json:"title,omitempty" jsonschema:"one line for the report"`
	A     string `yaml:"a" json:"a" jsonschema:"what is compared: a scenario or a mode"`
	B     string `yaml:"b" json:"b" jsonschema:"with what: another scenario or mode"`
}

// Name is the comparison's name in results: its id, or the two that it compares,
// D/B; with room between names that have a stroke themselves.
func (c Comparison) Name() string {
	switch {
	case c.ID != "":
		return c.ID
	case strings.Contains(c.A+c.B, "/"):
		return c.A + " / " + c.B
	}
	return c.A + "/" + c.B
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
