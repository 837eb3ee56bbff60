package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/calibration"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/facts"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/program/agentfile"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/warning"
)

// labKind is the lab: two hosts for each mode, created on this machine for the run.
func labKind() Kind {
	return Kind{
		Name:    "lab",
		Matches: func(name string) bool { return name == study.LabTarget },
		Study:   func(study.Target) string { return "default" },
		New:     func(_ study.Target, o Options) driver.Target { return newLab(cniFiles(o.Modes)...) },
	}
}

// labTarget is the state of a run in labs.
type labTarget struct {
	labs labdriver.Labs
	undo []func() error
}

func newLab(trusted ...string) driver.Target {
	l := &labTarget{}
	drivers := Drivers(trusted...)
	t := driver.Target{Hosts: labdriver.Hosts(), Namespaces: true, Unavailable: onlyKube(removed()), Begin: l.begin, Close: l.close,
		DescribeChanges: func(s study.Study) []string { return labChanges(s, drivers) }}
	for _, r := range drivers {
		t.Drivers = append(t.Drivers, labdriver.On(&l.labs, r.Driver))
	}
	return t
}

func (l *labTarget) begin(run driver.Run) (driver.HostInfo, error) {
	var none driver.HostInfo
	claim, err := lab.NewClaim(run.ID)
	if err != nil {
		return none, err
	}
	l.labs = labdriver.Labs{Claim: claim, Pin: linuxnet.RealRoot(), LabFor: func(mode string) study.Lab {
		asked, _ := run.Study.ModeNamed(mode)
		return run.Study.LabOf(asked)
	}}
	l.undo = append(l.undo, func() error { claim.Release(); return nil })
	for _, r := range Drivers() {
		if r.Prepare == nil || !linuxnet.RealRoot() || !builds(r, run.Study) {
			continue
		}
		undo, err := r.Prepare(run.ID)
		if err != nil {
			return none, err
		}
		l.undo = append(l.undo, undo)
	}
	cpus, err := facts.CPUs("/")
	if err != nil {
		return none, err
	}
	machine := facts.Collect("/")
	return driver.HostInfo{
		Hosts: labdriver.Hosts(), CPUs: cpus, Report: labHosts(run.Study, slices.Concat(machine.Facts, calibration.Facts()), cpus),
		Warnings: append(machine.Warnings, result.Warning{Code: string(warning.SharedKernel), Scope: "run", Text: "both hosts of the lab share one kernel and its CPUs, and the wire is a memory copy: " +
			"the ratios show what a mode adds to the kernel's packet path, not what a network card can carry"}),
	}, nil
}

// close reverses what begin did, in reverse order.
func (l *labTarget) close() error {
	var errs []error
	for _, undo := range slices.Backward(l.undo) {
		errs = append(errs, undo())
	}
	l.undo = nil
	return errors.Join(errs...)
}

// builds reports whether a study has a mode of a driver.
func builds(r Registration, s study.Study) bool {
	return slices.ContainsFunc(s.Modes, func(asked study.Mode) bool {
		return slices.ContainsFunc(r.Driver.Modes(), func(m driver.Mode) bool { return study.Fits(m.ID, asked.Mode) })
	})
}

// labHosts describes the two hosts, which are one machine.
func labHosts(s study.Study, machine []result.Fact, cpus []int) []result.Host {
	common := []result.Fact{
		{Name: "underlay", Value: fmt.Sprintf("veth, MTU %d, offload %s", s.Lab.MTU, s.Lab.Offload)},
		{Name: "underlay rate limit", Value: rateText(s.Lab.Rate)},
		{Name: "CPUs for trials", Value: fmt.Sprint(cpus)},
		{Name: "agent", Value: agentfile.Describe()},
	}
	return []result.Host{
		{Name: "a", Facts: append(slices.Clone(machine), common...)},
		{Name: "b", Facts: append([]result.Fact{{Name: "machine", Value: "the same as a: two network namespaces of one kernel"}}, common...)},
	}
}

func rateText(r quantity.Rate) string {
	if r == 0 {
		return "none"
	}
	return r.String()
}

// labChanges says what a run of the study creates, where, and which privileges that requires.
func labChanges(s study.Study, drivers []Registration) []string {
	lines := []string{fmt.Sprintf("lab: underlay MTU %d, offload %s, rate limit %s", s.Lab.MTU, s.Lab.Offload, rateText(s.Lab.Rate))}
	rights := "network namespaces, links and nftables rules inside them, so root or unprivileged user namespaces"
	for _, r := range drivers {
		if !builds(r, s) {
			continue
		}
		if r.DescribeChanges != nil {
			lines = append(lines, r.DescribeChanges(s))
		}
		rights = cmp.Or(r.Rights, rights)
	}
	return append(lines, "rights: "+rights+";\nnothing outside the lab's namespaces is changed")
}

// dockerChanges says which engines are started.
func dockerChanges(s study.Study) string {
	text := "engine: lab: private Docker Engines on the lab's hosts, with their data in /var/lib/tare/engines, stopped at the end of the run"
	if hasMode(s, "docker/overlay") {
		text += "; those of an overlay form a Swarm of their own"
	}
	return text
}

// podmanChanges says which Podmans are started.
func podmanChanges(s study.Study) string {
	text := "podman: private Podmans on the lab's hosts, with their data in memory, stopped at the end of the run"
	if hasMode(s, "podman/rootless") {
		text += "; those of the rootless modes run as the user nobody"
	}
	return text
}

// hasMode reports whether a study has a mode with this prefix.
func hasMode(s study.Study, prefix string) bool {
	return slices.ContainsFunc(s.Modes, func(m study.Mode) bool { return strings.HasPrefix(m.Mode, prefix) })
}
