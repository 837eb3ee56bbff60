package hosts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/identity"
	"tare/internal/calibration"
	"tare/internal/driver"
	"tare/internal/driver/machines"
	"tare/internal/engine"
	"tare/internal/facts"
	"tare/internal/observe/netstack"
	"tare/internal/result"
	"tare/internal/warning"
)

// machinesTarget is the state of a run on machines.
type machinesTarget struct {
	hosts   *machines.Hosts
	engines *onEngines
}

func (m *machinesTarget) begin(run driver.Run) (driver.HostInfo, error) {
	if err := m.hosts.Hold(context.Background(), run.ID); err != nil {
		return driver.HostInfo{}, err
	}
	g := driver.HostInfo{Hosts: m.hosts.Hosts(), HostCPUs: map[string][]int{}, HeldBy: m.hosts.RunID()}
	for i := range g.Hosts {
		h, known := &g.Hosts[i], m.hosts.Facts(i)
		if h.Local && hasMode(run.Study, "docker/") {
			h.Programs = engine.Daemons()
		}
		g.HostCPUs[h.Name] = known.CPUs
	}
	g.Warnings = aboutMachines(m.hosts)
	if m.hosts.SameMachine() {
		g.CPUs = m.hosts.Facts(0).CPUs
		g.Warnings = append(g.Warnings, result.Warning{Code: string(warning.SharedKernel), Scope: "run", Text: "both hosts are one machine: they share its kernel and CPUs, and what is between them is no wire; " +
			"the ratios show what a mode adds to the kernel's packet path, not what a network card can carry"})
	}
	g.Report = machineHosts(m.hosts)
	g.Warnings = slices.Concat(g.Warnings, m.hosts.Path().Warnings(), identity.CompareHosts(g.Report[0], g.Report[1]))
	return g, nil
}

// aboutMachines returns the warnings about the machines, each of which says which ones it is
// about. What is true of both is said once.
func aboutMachines(hosts *machines.Hosts) []result.Warning {
	var out []result.Warning
	var about [][]string
	for i, n := range hosts.Named() {
		known := hosts.Facts(i)
		for _, w := range slices.Concat(known.Warnings, known.Existing) {
			at := slices.IndexFunc(out, func(o result.Warning) bool { return o == w })
			if at < 0 {
				at, out, about = len(out), append(out, w), append(about, nil)
			}
			about[at] = append(about[at], n.Name)
		}
	}
	for i, names := range about {
		of := "host " + names[0]
		if len(names) > 1 {
			of = "hosts " + strings.Join(names, " and ")
		}
		out[i].Text = of + ": " + out[i].Text
	}
	return out
}

func (m *machinesTarget) close() error { return errors.Join(m.engines.close(), m.hosts.Close()) }

// machineHosts describes the machines, and this one if it is none of them.
func machineHosts(hosts *machines.Hosts) []result.Host {
	const controller = "tare"
	here := netstack.Boot("/proc")
	among := false
	var out []result.Host
	addresses, err := hosts.Addresses()
	for i, n := range hosts.Named() {
		known := hosts.Facts(i)
		h := result.Host{Name: n.Name, Facts: []result.Fact{{Name: "reached by", Value: n.Machine.String()}}}
		if err == nil {
			h.Facts = append(h.Facts, result.Fact{Name: "address", Value: addresses[i].String()})
		}
		if m, err := hosts.Machine(i); err == nil {
			h.Facts = append(h.Facts, result.Fact{Name: "platform", Value: m.System.String()})
		}
		local := n.Machine.Local() || here != "" && known.BootID == here
		switch {
		case i > 0 && hosts.SameMachine():
			h.Facts = append(h.Facts, result.Fact{Name: "machine", Value: "the same as " + out[0].Name + ": one kernel, two network stacks"})
			h.Facts = append(h.Facts, known.Link...)
		default:
			h.Facts = slices.Concat(h.Facts, known.Facts, known.Link)
			if local {
				h.Facts = append(h.Facts, calibration.Facts()...)
			}
		}
		h.Facts = append(h.Facts, hosts.Path().FactsOf(n.Name)...)
		among = among || local
		out = append(out, h)
	}
	if among {
		return out
	}
	for i := range out {
		out[i].Facts = append(out[i].Facts, result.Fact{Name: "machine", Value: "not " + controller})
	}
	role := result.Fact{Name: "role", Value: "the machine that controlled the run"}
	return append(out, result.Host{Name: controller, Facts: slices.Concat([]result.Fact{role}, facts.Collect("/").Facts)})
}

// diagnose examines the machines for tare doctor.
func (m *machinesTarget) diagnose(ctx context.Context, show func(facts.Group)) ([]result.Warning, error) {
	if err := m.hosts.Join(ctx); err != nil {
		return nil, err
	}
	for i, n := range m.hosts.Named() {
		on, err := m.hosts.Machine(i)
		if err != nil {
			return nil, err
		}
		root := "yes"
		if on.Root == nil {
			root = "no: " + on.NoRoot
		}
		show(facts.Group{Title: "host " + n.Name, Facts: append([]result.Fact{
			{Name: "reached by", Value: n.Machine.String()}, {Name: "platform", Value: on.System.String()}, {Name: "root", Value: root},
		}, m.engineFacts(ctx, i)...)})
	}
	blocked := m.hosts.FindRoute(ctx)
	if len(m.hosts.Route()) == 0 {
		return nil, blocked
	}
	warnings := m.hosts.Path().Warnings()
	var route []result.Fact
	for _, f := range m.hosts.Route() {
		route = append(route, result.Fact{Name: "from " + f.From.String(), Value: fmt.Sprintf("%s, TCP and UDP from port %d on", f.To, machines.FirstPort)})
	}
	if m.hosts.SameMachine() {
		route = append(route, result.Fact{Name: "machine", Value: "both hosts are one: the same kernel"})
	}
	show(facts.Group{Title: "route", Facts: route})
	for i, n := range m.hosts.Named() {
		known := m.hosts.Facts(i)
		if i == 0 || !m.hosts.SameMachine() {
			show(facts.Group{Title: "machine of host " + n.Name, Facts: known.Facts})
		}
		show(facts.Group{Title: "link of host " + n.Name, Facts: known.Link})
		show(facts.Group{Title: "path from host " + n.Name, Facts: m.hosts.Path().FactsOf(n.Name)})
	}
	warnings = append(warnings, aboutMachines(m.hosts)...)
	if hosts := machineHosts(m.hosts); blocked == nil {
		warnings = append(warnings, identity.CompareHosts(hosts[0], hosts[1])...)
	}
	return warnings, blocked
}

// engineFacts says which engine a machine has.
func (m *machinesTarget) engineFacts(ctx context.Context, i int) []result.Fact {
	e, err := m.engines.connect(ctx, i)
	if err != nil {
		return []result.Fact{{Name: "engine", Value: "none: " + err.Error()}}
	}
	defer func() { _ = e.Disconnect() }() // it holds no more than idle connections
	return append([]result.Fact{{Name: "engine", Value: e.Name}}, e.Versions.Facts()...)
}
