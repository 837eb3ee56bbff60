package study

import (
	"cmp"
	"reflect"

	yaml "go.yaml.in/yaml/v3"
)

// LabTarget is the target of a study that has tare make the hosts.
const LabTarget = "lab"

// Host is an existing engine and the address at which the other host reaches it.
type Host struct {
	Name    string `yaml:"name,omitempty" json:"name,omitempty" jsonschema:"for people; a and b when absent"`
	Engine  string `yaml:"engine" json:"engine" jsonschema:"docker, docker:CONTEXT, or a unix://, tcp:// or ssh:// address"`
	Address string `yaml:"address" json:"address" jsonschema:"IP address at which the other host reaches it"`
}

// Target is where the hosts of a study come from: a name, which is LabTarget or begins
// with what tells the kind of target, such as docker:CONTEXT; or two named Hosts.
// Neither is the lab.
type Target struct {
	Name  string
	Hosts []Host
}

// Target says where the hosts of s come from: what its file calls engine, or hosts.
func (s Study) Target() Target { return Target{s.Engine, s.Hosts} }

// Names are those of all that hosts come from: the one name, or that of each host.
func (e Target) Names() []string {
	if len(e.Hosts) == 0 {
		return []string{cmp.Or(e.Name, LabTarget)}
	}
	var out []string
	for _, h := range e.Hosts {
		out = append(out, h.Engine)
	}
	return out
}

// Given reports whether the hosts are there already, so that no lab is made.
func (e Target) Given() bool { return len(e.Hosts) > 0 || e.Name != "" && e.Name != LabTarget }

// String names the target for people.
func (e Target) String() string {
	if len(e.Hosts) == 2 {
		return e.Hosts[0].Engine + " and " + e.Hosts[1].Engine
	}
	return cmp.Or(e.Name, LabTarget)
}

// Check says what is wrong with a target that the command line names, one line for
// each problem.
func (e Target) Check() error {
	s := Study{Engine: e.Name, Hosts: e.Hosts}
	var v validator
	v.fields(reflect.ValueOf(s), "", []string{"engine"})
	v.engines(s)
	var errs []*Error
	for _, p := range v.problems {
		errs = append(errs, &Error{Text: p.text})
	}
	return join(errs)
}

// TargetOf reads which target a study file names and nothing else of it: what
// there is to choose from depends on them. What it cannot read is left to Decode to
// complain about.
func TargetOf(src []byte) Target {
	root, err := load("", src)
	if err != nil {
		return Target{}
	}
	if root = target(root); root.Kind != yaml.MappingNode {
		return Target{}
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
		return Target{}
	}
	return s.Target()
}
