package study

// LabEngine is the engine of a study that has tare start private ones.
const LabEngine = "lab"

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
	return text(at, `^(lab|docker(:[A-Za-z0-9][A-Za-z0-9_.+-]*)?|(unix|tcp|ssh)://[^\x00-\x20\x7f]+)$`,
		"lab, docker, docker:CONTEXT, or an address with unix://, tcp:// or ssh://", 500)
}

func hostAddress(at *string) Plain {
	return text(at, `^[0-9A-Fa-f.:]{2,45}$`, "an IPv4 or IPv6 address", 0)
}
