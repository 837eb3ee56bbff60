package target

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/existing"
	"tare/internal/facts"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// enginesKind is Docker Engines that exist: one, or two on two machines.
func enginesKind() Kind {
	return Kind{
		Name: "engines",
		Matches: func(name string) bool {
			scheme, _, _ := strings.Cut(name, ":")
			return scheme == "docker" || scheme == "unix" || scheme == "tcp" || scheme == "ssh"
		},
		Study: func(t study.Target) string {
			if len(t.Hosts) > 0 {
				return "engines"
			}
			return "engine"
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
		// A bad address is the study's to complain about, with its line.
		addr, _ := netip.ParseAddr(h.Address)
		hosts = append(hosts, existing.Host{Name: h.Name, Target: h.Engine, Address: addr})
	}
	on := existing.New(hosts, o.AllowSwarm)
	absent := map[string]string{}
	for _, m := range Modes() {
		absent[m.ID] = fmt.Sprintf("it is built on a lab's hosts, and the engine asked for exists (%s): weigh docker modes, or leave out engine", t)
	}
	for _, m := range on.Modes() {
		delete(absent, m.ID)
	}
	return driver.Target{
		Hosts:   on.Hosts(),
		Drivers: driver.Registry{on}, Unavailable: absent, Open: on.Open, Close: on.Close,
		DescribeChanges: func(s study.Study) []string { return enginesMake(s, t, o.AllowSwarm) },
		Begin:           func(run driver.Run) (driver.HostInfo, error) { return enginesBegin(on, t) },
	}
}

func enginesBegin(on *existing.Driver, t study.Target) (driver.HostInfo, error) {
	machine := facts.Collect("/")
	g := driver.HostInfo{Hosts: on.Hosts(), Report: engineHosts(t, machine.Facts)}
	if g.Local() { // what is known of this machine holds for the endpoints
		var err error
		if g.CPUs, err = facts.CPUs("/"); err != nil {
			return g, err
		}
		g.Warnings = append(machine.Warnings, machine.Existing...)
	}
	if len(t.Hosts) == 0 {
		g.Warnings = append(g.Warnings, result.Warning{Code: string(warning.SharedKernel), Scope: "run", Text: "both ends are on the engine's host and share its kernel and its CPUs: " +
			"the ratios say what a mode adds to the path through the kernel, not what a network card would carry"})
	}
	return g, nil
}

// engineHosts describes the machines of the engines, and this one. What an engine says
// of itself is with its modes.
func engineHosts(t study.Target, machine []result.Fact) []result.Host {
	tare := result.Host{Name: "tare", Facts: append([]result.Fact{{Name: "role", Value: "the machine that led the run, which an engine need not be on"}}, machine...)}
	if len(t.Hosts) == 0 {
		return []result.Host{{Name: "a", Facts: []result.Fact{{Name: "engine", Value: t.Name}}}, tare}
	}
	var out []result.Host
	for i, h := range t.Hosts {
		out = append(out, result.Host{Name: cmp.Or(h.Name, string(rune('a'+i))), Facts: []result.Fact{{Name: "engine", Value: h.Engine}, {Name: "address", Value: h.Address}}})
	}
	return append(out, tare)
}

// enginesMake says what a run of the study makes on the engines.
func enginesMake(s study.Study, t study.Target, allowSwarm bool) []string {
	lines := []string{
		fmt.Sprintf("engine: %s, existing; made on it and taken away again: an image of this program, containers and networks, all with the label io.tare.run", t),
	}
	switch {
	case hasMode(s, "docker/overlay") && allowSwarm:
		lines = append(lines, "Swarm: the one there is; where there is none, one is made for the run and left again (--yes)")
	case hasMode(s, "docker/overlay"):
		lines = append(lines, "Swarm: the one there is; none is made without --yes")
	}
	return append(lines, "rights: to speak to the engine, and no others; what is the user's on it is not touched")
}
