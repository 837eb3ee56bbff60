package study

import "cmp"

// LabTarget is the target of a study whose hosts tare creates.
const LabTarget = "lab"

// Host is an existing engine and the address at which the other host reaches it.
type Host struct {
	Name, Engine, Address string
}

// Fields declares the keys of a Host, with what each may hold.
func (h *Host) Fields() []Field {
	return []Field{
		key("name", nameText(&h.Name), "name for reports; a and b when absent"),
		required("engine", engineText(&h.Engine), "docker, docker:CONTEXT, or a unix://, tcp:// or ssh:// address"),
		required("address", hostAddress(&h.Address), "IP address at which the other host reaches it"),
	}
}

// Target is the source of a study's hosts: a name, which is LabTarget or begins with the
// kind of target, such as docker:CONTEXT; or two named Hosts. If both are empty, the
// target is the lab.
type Target struct {
	Name  string
	Hosts []Host
}

// Target returns the target of s: the engine or hosts of its file.
func (s Study) Target() Target { return Target{s.Engine, s.Hosts} }

// Names are the names of the target: one name, or that of each host.
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

// Given reports whether the hosts already exist, so that no lab is created.
func (e Target) Given() bool { return len(e.Hosts) > 0 || e.Name != "" && e.Name != LabTarget }

// String names the target for readers.
func (e Target) String() string {
	if len(e.Hosts) == 2 {
		return e.Hosts[0].Engine + " and " + e.Hosts[1].Engine
	}
	return cmp.Or(e.Name, LabTarget)
}

// Check returns the problems of a target that the command line names, one line each.
func (e Target) Check(cat Catalog) error {
	s := Study{Engine: e.Name, Hosts: e.Hosts}
	v := validator{cat: cat}
	v.all(s.Fields(), "", "engine")
	v.engines(s)
	var errs []*Error
	for _, p := range v.problems {
		errs = append(errs, &Error{Text: p.Text})
	}
	return Join(errs)
}

// engineText is the name of an engine; docker contexts have their own naming rules.
func engineText(at *string) Plain {
	return textBy(at, Rule{
		Pattern: `^(lab|docker(:[A-Za-z0-9][A-Za-z0-9_.+-]*)?|(unix|tcp|ssh)://[^\x00-\x20\x7f]+)$`,
		Words:   "lab, docker, docker:CONTEXT, or an address with unix://, tcp:// or ssh://", Runes: 500, Target: true,
	})
}

func hostAddress(at *string) Plain {
	return text(at, `^[0-9A-Fa-f.:]{2,45}$`, "an IPv4 or IPv6 address", 0)
}
