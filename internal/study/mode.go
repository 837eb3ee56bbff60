package study

import "strings"

// anyName ends the id of a mode that stands for all with a name in that place,
// such as docker/network:NAME.
const anyName = ":NAME"

// Fits reports whether a mode's id as a study names it is one of those that id
// stands for: itself, or one with a name of the user's in its place.
func Fits(id, named string) bool {
	prefix, open := strings.CutSuffix(id, anyName)
	if !open {
		return id == named
	}
	name, ok := strings.CutPrefix(named, prefix+":")
	return ok && name != ""
}

// Limits bound what the sandboxes of the two ends may use. The engine applies
// them; a zero value is no limit.
type Limits struct {
	Client Limit `yaml:"client,omitempty" json:"client,omitempty" jsonschema:"of the sandbox that connects"`
	Server Limit `yaml:"server,omitempty" json:"server,omitempty" jsonschema:"of the sandbox that is connected to"`
}

// Limit bounds one sandbox.
type Limit struct {
	CPUs   float64 `yaml:"cpus,omitempty" json:"cpus,omitempty" jsonschema:"CPUs, such as 0.5"`
	Memory Size    `yaml:"memory,omitempty" json:"memory,omitempty" jsonschema:"memory, such as 64MiB"`
}
