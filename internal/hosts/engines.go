package hosts

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tare/internal/calibration"
	"tare/internal/driver"
	"tare/internal/driver/existing"
	"tare/internal/facts"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// enginesKind is one existing Docker Engine, or two on two machines.
func enginesKind() Kind {
	return Kind{
		Name: "engines",
		Matches: func(name string) bool {
			scheme, _, _ := strings.Cut(name, ":")
			return scheme == "docker" || scheme == "unix" || scheme == "tcp" || scheme == "npipe" || scheme == "ssh"
		},
		Study: func(t study.Target) string {
			if len(t.Hosts) > 0 {
				return "engines"
			}
			return "engine"
		},
		InPlace: func(t study.Target, name string) string {
			if len(t.Hosts) == 0 && name == "published-ports" {
				return "published-ports-engine"
			}
			return name
		},
		New: newEngines,
	}
}

func newEngines(t study.Target, o Options) driver.Target {
	hosts := []existing.Host{{Target: t.Name}}
	if len(t.Hosts) > 0 {
		hosts = nil
	}
	for _, h := range t.Hosts {
		// The study reports a bad address, with its line.
		addr, _ := netip.ParseAddr(h.Address)
		hosts = append(hosts, existing.Host{Name: h.Name, Target: h.Engine, Address: addr})
	}
	on := existing.New(hosts, o.AllowSwarm)
	absent := removed()
	for _, m := range Modes() {
		absent[m.ID] = fmt.Sprintf("this mode is built in a lab, and the study names an existing engine (%s); measure docker modes, or leave out engine", t)
	}
	for _, m := range on.Modes() {
		delete(absent, m.ID)
	}
	return driver.Target{
		Hosts:   on.Hosts(),
		Drivers: driver.Registry{on}, Unavailable: onlyKube(absent), Open: on.Open, Close: on.Close,
		Check: func(ctx context.Context, s study.Study) error {
			var modes []string
			for _, m := range s.Modes {
				modes = append(modes, m.Mode)
			}
			return on.Check(ctx, modes)
		},
		DescribeChanges: func(s study.Study) []string { return engineChanges(s, t, o.AllowSwarm) },
		Begin:           func(run driver.Run) (driver.HostInfo, error) { return enginesBegin(on, t) },
	}
}

func enginesBegin(on *existing.Driver, t study.Target) (driver.HostInfo, error) {
	machine := facts.Collect("/")
	here := machine.Facts
	if slices.ContainsFunc(on.Hosts(), func(h driver.Host) bool { return h.Local }) {
		here = slices.Concat(here, calibration.Facts())
	}
	g := driver.HostInfo{Hosts: on.Hosts(), Report: engineHosts(t, on, here)}
	if g.Local() { // the facts of this machine apply to the endpoints
		var err error
		if g.CPUs, err = facts.CPUs("/"); err != nil {
			return g, err
		}
		g.Warnings = append(machine.Warnings, machine.Existing...)
	}
	if len(t.Hosts) == 0 && slices.ContainsFunc(g.Hosts, func(h driver.Host) bool { return h.Guest }) {
		g.Warnings = append(g.Warnings, result.Warning{Code: string(warning.SharedKernel), Scope: "run", Text: "client and server share the CPUs of this machine, the server's in a virtual machine on it: " +
			"the ratios show what the virtual machine and its port forwarding add, not what a network card can carry"})
	} else if len(t.Hosts) == 0 {
		g.Warnings = append(g.Warnings, result.Warning{Code: string(warning.SharedKernel), Scope: "run", Text: "both endpoints are on the engine's host and share its kernel and CPUs: " +
			"the ratios show what a mode adds to the kernel's packet path, not what a network card can carry"})
	}
	return g, nil
}

// engineHosts describes the machines of the engines, and this one. What an engine reports
// about itself is with its modes. Each host says whether it is this machine, whose facts
// are the last ones.
func engineHosts(t study.Target, on engineMachines, machine []result.Fact) []result.Host {
	const controller = "tare"
	named := []study.Host{{Engine: t.Name}}
	if len(t.Hosts) > 0 {
		named = t.Hosts
	}
	hosts := on.Hosts()
	engines := hosts[len(hosts)-len(named):] // a desktop precedes that of its engine
	var out []result.Host
	for i, h := range named {
		facts := []result.Fact{{Name: "engine", Value: h.Engine}}
		if h.Address != "" {
			facts = append(facts, result.Fact{Name: "address", Value: h.Address})
		}
		which := "not " + controller + ": its CPUs are not known"
		switch {
		case engines[i].Local:
			which = "the same as " + controller
		case engines[i].Guest:
			which = "a virtual machine on " + controller
		}
		facts = append(facts, result.Fact{Name: "machine", Value: which})
		if !engines[i].Local {
			facts = append(facts, on.Machine(i)...)
		}
		out = append(out, result.Host{Name: engines[i].Name, Facts: facts})
	}
	role := result.Fact{Name: "role", Value: "the machine that controlled the run; the engine may be on another"}
	if len(hosts) > len(named) {
		role.Value = "the machine that controlled the run, and host " + hosts[0].Name
	}
	return append(out, result.Host{Name: controller, Facts: append([]result.Fact{role}, machine...)})
}

// engineMachines are the hosts of engines, with what the engines report about them.
type engineMachines interface {
	Hosts() []driver.Host
	Machine(engine int) []result.Fact
}

// engineChanges says what a run of the study creates on the engines.
func engineChanges(s study.Study, t study.Target, allowSwarm bool) []string {
	lines := []string{
		fmt.Sprintf("engine: %s, existing; tare creates on it, and removes again, an image of this program, containers and networks, all with the label io.tare.run", t),
	}
	switch {
	case hasMode(s, "docker/overlay") && allowSwarm:
		lines = append(lines, "Swarm: the existing one; if there is none, tare creates one for the run and removes it again (--yes)")
	case hasMode(s, "docker/overlay"):
		lines = append(lines, "Swarm: the existing one; tare creates none without --yes")
	}
	return append(lines, "rights: access to the engine only; nothing of the user's on it is changed")
}
