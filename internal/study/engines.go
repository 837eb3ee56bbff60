package study

import (
	"reflect"

	yaml "go.yaml.in/yaml/v3"
)

// LabEngine is the engine of a study that has tare start private ones.
const LabEngine = "lab"

// Host is an existing engine and the address at which the other host reaches it.
type Host struct {
	Name    string `yaml:"name,omitempty" json:"name,omitempty" jsonschema:"for people; a and b when absent"`
	Engine  string `yaml:"engine" json:"engine" jsonschema:"docker, docker:CONTEXT, or a unix://, tcp:// or ssh:// address"`
	Address string `yaml:"address" json:"address" jsonschema:"IP address at which the other host reaches it"`
}

// Engines is where a study has its docker modes built: Engine as a study file has
// it, or two Hosts. Neither is the lab.
type Engines struct {
	Engine string
	Hosts  []Host
}

// Engines says where s has its docker modes built.
func (s Study) Engines() Engines { return Engines{s.Engine, s.Hosts} }

// Existing reports whether they are engines that exist, so that no lab is made.
func (e Engines) Existing() bool { return len(e.Hosts) > 0 || e.Engine != "" && e.Engine != LabEngine }

// String names the engines for people.
func (e Engines) String() string {
	if len(e.Hosts) == 2 {
		return e.Hosts[0].Engine + " and " + e.Hosts[1].Engine
	}
	if e.Engine == "" {
		return LabEngine
	}
	return e.Engine
}

// Check says what is wrong with engines that the command line names, one line for
// each problem.
func (e Engines) Check() error {
	s := Study{Engine: e.Engine, Hosts: e.Hosts}
	var v validator
	v.fields(reflect.ValueOf(s), "", []string{"engine"})
	v.engines(s)
	var errs []*Error
	for _, p := range v.problems {
		errs = append(errs, &Error{Text: p.text})
	}
	return join(errs)
}

// EnginesOf reads which engines a study file names and nothing else of it: what
// there is to choose from depends on them. What it cannot read is left to Decode to
// complain about.
func EnginesOf(src []byte) Engines {
	root, err := load("", src)
	if err != nil {
		return Engines{}
	}
	if root = target(root); root.Kind != yaml.MappingNode {
		return Engines{}
	}
	var s Study
	v := reflect.ValueOf(&s).Elem()
	r := reader{src: source{lines: map[string]int{}, failed: map[string]bool{}}}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if key := target(root.Content[i]).Value; key == "engine" || key == "hosts" {
			f, _ := member(v, key)
			r.value(target(root.Content[i+1]), f, key, key)
		}
	}
	if len(r.errs) > 0 {
		return Engines{}
	}
	return s.Engines()
}
