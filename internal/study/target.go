package study

import "cmp"

// LabTarget is the target of a study that has tare make the hosts.
const LabTarget = "lab"

// Host is an existing engine and the address at which the other host reaches it.
type Host struct {
	Name, Engine, Address string
}

// Fields declares the keys of a Host, with what each may hold.
func (h *Host) Fields() []Field {
	return []Field{
		key("name", nameText(&h.Name), "for people; a and b when absent"),
		required("engine", engineText(&h.Engine), "docker, docker:CONTEXT, or a unix://, tcp:// or ssh:// address"),
		required("address", hostAddress(&h.Address), "IP address at which the other host reaches it"),
	}
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

// engineText is how an engine is named; docker contexts have names of their own.
func engineText(at *string) Plain {
	return textBy(at, Rule{
		Pattern: `^(lab|docker(:[A-Za-z0-9][A-Za-z0-9_.+-]*)?|(unix|tcp|ssh)://[^\x00-\x20\x7f]+)$`,
		Words:   "lab, docker, docker:CONTEXT, or an address with unix://, tcp:// or ssh://", Runes: 500, Target: true,
	})
}

func hostAddress(at *string) Plain {
	return text(at, `^[0-9A-Fa-f.:]{2,45}$`, "an IPv4 or IPv6 address", 0)
}
