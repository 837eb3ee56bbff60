package analysis

import (
	"slices"
	"strconv"
	"strings"

	"tare/internal/result"
)

// MachineOf returns what makes the machine of a run this machine: the facts that decide the ratios
// of modes, which are the CPU model and stepping, the microcode, the hypervisor and the number of
// CPUs. Runs with equal keys are of one machine, as far as is recorded. A fact that is unknown or
// that an older tare did not record is left out, so its key differs from one that has the fact.
// The names of facts start with the host's if the run is of several machines. The calibration is
// no part of either, because it varies from run to run: see [SameMachine].
func MachineOf(run result.Run) (key string, facts []result.Fact) {
	hosts := machines(run.Hosts)
	var parts []string
	for _, h := range hosts {
		for _, f := range identity(h) {
			if len(hosts) > 1 {
				f.Name = cutFact(h.Name) + " " + f.Name
			}
			facts = append(facts, f)
			parts = append(parts, f.Name+"="+strconv.Quote(f.Value))
		}
	}
	return strings.Join(parts, " "), facts
}

// identifying are the facts that tell machines apart, in the order in which they are shown.
var identifying = []string{"cpu_model", "cpu_stepping", "microcode", "hypervisor", "cpus_online"}

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

// identity are the facts by which a host is known. A host whose CPU is not known, such as that of
// an engine elsewhere, is known by its engine and address.
func identity(h result.Host) []result.Fact {
	var out []result.Fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, result.Fact{Name: name, Value: cutFact(value)})
		}
	}
	for _, name := range identifying {
		value := hostFact(h, name)
		switch name {
		case "hypervisor": // how it was found may depend on rights
			value, _, _ = strings.Cut(value, " (")
		case "cpus_online": // 4 (0-3)
			name = "cpus"
			value, _, _ = strings.Cut(value, " ")
		}
		add(name, value)
	}
	if len(out) == 0 {
		add("engine", hostFact(h, "engine"))
		add("address", hostFact(h, "address"))
	}
	return out
}

// hostFact is the value of a fact of a host, empty if it is not recorded or unknown.
func hostFact(h result.Host, name string) string {
	i := slices.IndexFunc(h.Facts, func(f result.Fact) bool { return f.Name == name })
	if i < 0 || strings.HasPrefix(h.Facts[i].Value, "unknown") {
		return ""
	}
	return h.Facts[i].Value
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
