// Package identity tells the machines of runs apart, and what differs between two hosts.
package identity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/internal/result"
	"tare/internal/warning"
)

// Of returns what makes the machine of a run this machine: the facts that decide the ratios
// of modes, which are the CPU model and stepping, the microcode, the hypervisor and the number of
// CPUs. Runs with equal keys are of one machine, as far as is recorded. A fact that is unknown or
// that an older tare did not record is left out, so its key differs from one that has the fact.
// The names of facts start with the host's if the run is of several machines. The calibration is
// no part of either, because it varies from run to run: see [Differences].
func Of(run result.Run) (key string, facts []result.Fact) {
	hosts := machines(run.Hosts)
	var parts []string
	for _, h := range hosts {
		for _, f := range identity(h) {
			if f.Name == "cpus_online" {
				f.Name = "cpus"
			}
			if len(hosts) > 1 {
				f.Name = cutFact(h.Name) + " " + f.Name
			}
			facts = append(facts, f)
			parts = append(parts, f.Name+"="+strconv.Quote(f.Value))
		}
	}
	return strings.Join(parts, " "), facts
}

// Name is a short name of the machine with these facts, which are those of [Of].
func Name(facts []result.Fact) string {
	var model, cpus string
	for _, f := range facts {
		switch {
		case strings.HasSuffix(f.Name, "cpu_model") && model == "":
			model = f.Value
		case strings.HasSuffix(f.Name, "cpus") && cpus == "":
			cpus = f.Value
		}
	}
	switch {
	case model == "" && len(facts) > 0:
		model = facts[0].Value
	case model == "":
		model = "unknown machine"
	}
	if cpus != "" {
		model += ", " + cpus + " CPUs"
	}
	return model
}

// identifying are the facts that tell machines apart, in the order in which they are shown.
func identifying() []string {
	return []string{"cpu_model", "cpu_stepping", "microcode", "hypervisor", "cpus_online"}
}

// machines are the hosts of a run that are machines of their own. A host that is the same machine
// as another is left out, and so is the machine that controls a run of which it is no endpoint.
func machines(hosts []result.Host) []result.Host {
	var out []result.Host
	for _, h := range hosts {
		sameAs, duplicate := strings.CutPrefix(hostFact(h, "machine"), "the same as ")
		_, known := hostNamed(hosts, sameAs)
		switch {
		case duplicate && known:
		case hostFact(h, "role") != "" && controlsOnly(h, hosts):
		default:
			out = append(out, h)
		}
	}
	return out
}

// hostNamed finds the host whose name starts a text such as "a: two network namespaces of one kernel".
func hostNamed(hosts []result.Host, text string) (result.Host, bool) {
	name, _, _ := strings.Cut(text, ":")
	i := slices.IndexFunc(hosts, func(h result.Host) bool { return h.Name == name })
	if i < 0 {
		return result.Host{}, false
	}
	return hosts[i], true
}

// controlsOnly says whether every other host says that it is another machine.
func controlsOnly(controller result.Host, hosts []result.Host) bool {
	return !slices.ContainsFunc(hosts, func(h result.Host) bool {
		return h.Name != controller.Name && !strings.HasPrefix(hostFact(h, "machine"), "not "+controller.Name)
	})
}

// identity are the facts by which a host is known, with the values that identify it. A host whose CPU
// is not known, such as that of an engine elsewhere, is known by its engine and address.
func identity(h result.Host) []result.Fact {
	var out []result.Fact
	for _, names := range [][]string{identifying(), {"engine", "address"}} {
		for _, name := range names {
			if value := identifies(name, hostFact(h, name)); value != "" {
				out = append(out, result.Fact{Name: name, Value: cutFact(value)})
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// identifies is the part of a fact's value that identifies a machine: without how a hypervisor was
// found, which may depend on rights, and without the numbers of the CPUs, as in "4 (0-3)".
func identifies(name, value string) string {
	if name == "hypervisor" || name == "cpus_online" {
		value, _, _ = strings.Cut(value, " (")
	}
	return value
}

// hostFact is the value of a fact of a host, empty if it is not recorded or unknown.
func hostFact(h result.Host, name string) string {
	i := slices.IndexFunc(h.Facts, func(f result.Fact) bool { return f.Name == name })
	if i < 0 || strings.HasPrefix(h.Facts[i].Value, "unknown") {
		return ""
	}
	return h.Facts[i].Value
}

// Differences lists what shows that two runs are of different machines, empty if nothing does:
// identifying facts that differ, as far as both runs record them, and values of the calibration that
// differ by more than repetition explains. Hosts are matched by name.
func Differences(before, after result.Run) []result.Difference {
	var out []result.Difference
	for _, b := range machines(before.Hosts) {
		a, ok := hostNamed(machines(after.Hosts), b.Name)
		if !ok {
			continue
		}
		for _, name := range identifying() {
			was, is := hostFact(b, name), hostFact(a, name)
			if was != "" && is != "" && identifies(name, was) != identifies(name, is) {
				out = append(out, differs(b, name, was, is))
			}
		}
		kernel := sameKernel(b, a)
		for _, f := range b.Facts {
			if !Calibrated(f.Name) || !kernel && f.Name != "calibration_copy" {
				continue
			}
			if is := hostFact(a, f.Name); calibrationDiffers(f.Value, is) {
				out = append(out, differs(b, f.Name, f.Value, is))
			}
		}
	}
	return out
}

// sameKernel says whether two hosts run one kernel with one set of mitigations. Otherwise all of the
// calibration but copies, which are made without it, may differ on one machine: an upgrade is
// what two runs are often compared for.
func sameKernel(b, a result.Host) bool {
	return !slices.ContainsFunc([]string{"kernel", "kernel_version", "boot_parameters", "mitigations", "mitigation_spectre_v2"}, func(name string) bool {
		return hostFact(b, name) != hostFact(a, name)
	})
}

func differs(h result.Host, name, was, is string) result.Difference {
	return result.Difference{Scope: "host " + cutFact(h.Name), Name: cutFact(name), Before: cutFact(was), After: cutFact(is)}
}

// Calibrated says whether a fact is a value of the calibration.
func Calibrated(name string) bool { return strings.HasPrefix(name, "calibration_") }

// calibrationSpread is the ratio of two values of the calibration above which they are of different
// machines, see docs/facts.md.
const calibrationSpread = 1.25

// calibrationDiffers says whether two values, such as "81.0 ns", differ by more than repetition on one
// machine explains. It is false if either is unknown or in another unit.
func calibrationDiffers(before, after string) bool {
	was, unit, _ := strings.Cut(before, " ")
	is, other, _ := strings.Cut(after, " ")
	b, errB := strconv.ParseFloat(was, 64)
	a, errA := strconv.ParseFloat(is, 64)
	if errB != nil || errA != nil || unit != other || !(a > 0) || !(b > 0) {
		return false
	}
	return max(a/b, b/a) > calibrationSpread
}

// Warning is the warning that two runs are of different machines, none if there is no difference.
func Warning(differences []result.Difference) []result.Warning {
	if len(differences) == 0 {
		return nil
	}
	text := "the two runs are of different machines, and ratios differ between machines: "
	fix := "on this machine"
	if !slices.ContainsFunc(differences, func(d result.Difference) bool { return !Calibrated(d.Name) }) {
		text = "the two runs are of different machines, or this machine was faster at one of them (its own host, its CPU's speed, other programs), and ratios differ with that: "
		fix = "now"
	}
	return []result.Warning{{Code: string(warning.DifferentMachines), Scope: "run", Text: text + Text(differences) + ". Repeat the earlier run " + fix + "."}}
}

// Text says what differs: "microcode of host a was 0x1 and is 0x2".
func Text(differences []result.Difference) string {
	var what []string
	for _, d := range differences {
		what = append(what, fmt.Sprintf("%s of %s was %s and is %s", d.Name, d.Scope, d.Before, d.After))
	}
	return strings.Join(what, "; ")
}

// cutFact limits a value of a run's file, which may be of any length.
func cutFact(s string) string {
	const most = 200 // runes
	if len(s) <= most {
		return s
	}
	runes := []rune(s)
	return string(runes[:min(most, len(runes))])
}
