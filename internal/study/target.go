package study

import "cmp"

// LabTarget is the target of a study whose hosts tare creates.
const LabTarget = "lab"

// LocalMachine names this machine in a study's hosts.
const LocalMachine = "local"

// Host is an existing engine or a machine, with the address at which the other host reaches
// it. Exactly one of Engine and Machine is set. The address of a machine may be empty: it is
// then found from the routes of the two.
type Host struct {
	Name, Engine, Machine, Address string
}

// Fields declares the keys of a Host, with what each may hold.
func (h *Host) Fields() []Field {
	return []Field{
		key("name", nameText(&h.Name), "name for reports; a and b when absent"),
		key("engine", engineText(&h.Engine), "an existing engine: docker, docker:CONTEXT, or a unix://, tcp:// or ssh:// address"),
		key("machine", machineText(&h.Machine), "a machine, instead of engine: this one, or one that your ssh reaches"),
		key("address", hostAddress(&h.Address), "IP address at which the other host reaches it; of a machine it is found when absent"),
	}
}

// Source is the engine or the machine of the host.
func (h Host) Source() string { return cmp.Or(h.Engine, h.Machine) }

// Target is the source of a study's hosts: a name, which is LabTarget or begins with the
// kind of target, such as docker:CONTEXT; or two named Hosts. If both are empty, the
// target is the lab. Cluster belongs to a target that is a Kubernetes cluster, and may be nil.
type Target struct {
	Name    string
	Hosts   []Host
	Cluster *Cluster
}

// Target returns the target of s: the engine, hosts and cluster of its file.
func (s Study) Target() Target { return Target{s.Engine, s.Hosts, s.Cluster} }

// Names are the names of the target: one name, or that of each host.
func (e Target) Names() []string {
	if len(e.Hosts) == 0 {
		return []string{cmp.Or(e.Name, LabTarget)}
	}
	var out []string
	for _, h := range e.Hosts {
		out = append(out, h.Source())
	}
	return out
}

// Machines reports whether the hosts are machines, not engines.
func (e Target) Machines() bool { return len(e.Hosts) > 0 && e.Hosts[0].Machine != "" }

// Given reports whether the hosts already exist, so that no lab is created.
func (e Target) Given() bool { return len(e.Hosts) > 0 || e.Name != "" && e.Name != LabTarget }

// String names the target for readers.
func (e Target) String() string {
	if len(e.Hosts) == 2 {
		return e.Hosts[0].Source() + " and " + e.Hosts[1].Source()
	}
	return cmp.Or(e.Name, LabTarget)
}

// Check returns the problems of a target that the command line names, one line each.
func (e Target) Check(cat Catalog) error {
	s := Study{Engine: e.Name, Hosts: e.Hosts, Cluster: e.Cluster}
	v := validator{cat: cat}
	v.all(s.Fields(), "", "engine")
	v.hosts(s)
	v.cluster(s)
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

// machineText is the address of a machine, of plain characters, because it becomes an
// argument of ssh.
func machineText(at *string) Plain {
	return textBy(at, Rule{
		Pattern: `^(local|ssh://([A-Za-z0-9._%][A-Za-z0-9._%-]*@)?([A-Za-z0-9._][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(:[1-9][0-9]{0,4})?)$`,
		Words:   "local, or ssh://[user@]name[:port]", Runes: 500,
	})
}

func hostAddress(at *string) Plain {
	return text(at, `^[0-9A-Fa-f.:]{2,45}$`, "an IPv4 or IPv6 address", 0)
}
