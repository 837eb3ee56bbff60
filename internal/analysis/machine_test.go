package analysis_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/analysis"
	"tare/internal/result"
)

// labRun is a run in a lab, on a machine with these facts, given as name and value in turn.
func labRun(facts ...string) result.Run {
	return result.Run{Hosts: []result.Host{
		{Name: "a", Facts: factList(facts...)},
		{Name: "b", Facts: factList("machine", "the same as a: two network namespaces of one kernel")},
	}}
}

func factList(facts ...string) []result.Fact {
	var out []result.Fact
	for i := 0; i+1 < len(facts); i += 2 {
		out = append(out, result.Fact{Name: facts[i], Value: facts[i+1]})
	}
	return out
}

var reference = []string{
	"cpu_model", "Intel(R) Xeon(R) Processor", "cpu_stepping", "family 6, model 167, stepping 1", "microcode", "0x1",
	"hypervisor", "KVM (CPUID signature KVMKVMKVM)", "cpus_online", "2 (0-1)", "kernel", "6.18",
}

// with is the reference machine with other values of some facts; an empty value removes one.
func with(changed ...string) []string {
	var out []string
	for i := 0; i < len(reference); i += 2 {
		value := reference[i+1]
		for j := 0; j < len(changed); j += 2 {
			if changed[j] == reference[i] {
				value = changed[j+1]
			}
		}
		if value != "" {
			out = append(out, reference[i], value)
		}
	}
	return out
}

func TestMachineOf(t *testing.T) {
	key, facts := analysis.MachineOf(labRun(reference...))
	want := factList("cpu_model", "Intel(R) Xeon(R) Processor", "cpu_stepping", "family 6, model 167, stepping 1", "microcode", "0x1", "hypervisor", "KVM", "cpus", "2")
	if d := cmp.Diff(want, facts); d != "" {
		t.Errorf("facts (-want +got):\n%s", d)
	}
	for what, same := range map[string][]string{
		"another kernel":           with("kernel", "6.19"),
		"found in another way":     with("hypervisor", "KVM (the clock source kvm-clock)"),
		"CPUs with other numbers":  with("cpus_online", "2 (0,2)"),
		"a calibration":            append(with(), "calibration_syscall", "90 ns"),
		"the load at another time": append(with(), "load_average", "1 2 3"),
	} {
		if other, _ := analysis.MachineOf(labRun(same...)); other != key {
			t.Errorf("%s: the key is %s, not %s", what, other, key)
		}
	}
	seen := map[string]string{key: "the reference"}
	for what, differs := range map[string][]string{
		"another CPU":        with("cpu_model", "AMD EPYC 9R14"),
		"another stepping":   with("cpu_stepping", "family 6, model 167, stepping 2"),
		"another microcode":  with("microcode", "0x2b000603"),
		"another hypervisor": with("hypervisor", "Xen (/sys/hypervisor/type)"),
		"more CPUs":          with("cpus_online", "4 (0-3)"),
		"an unknown one":     with("hypervisor", "unknown: not shown by this kind of CPU", "microcode", ""),
		"nothing known":      {"kernel", "6.18"},
	} {
		other, _ := analysis.MachineOf(labRun(differs...))
		if seen[other] != "" {
			t.Errorf("%s has the key of %s: %s", what, seen[other], other)
		}
		seen[other] = what
	}
}

// A run on engines is of the engines' machines, and of the one that controls it only if an engine is there.
func TestMachineOfEngines(t *testing.T) {
	controller := func(model string) result.Host {
		return result.Host{Name: "tare", Facts: factList("role", "the machine that controlled the run", "cpu_model", model)}
	}
	tests := []struct {
		name  string
		hosts []result.Host
		want  []result.Fact
	}{
		{"its own engine", []result.Host{{Name: "a", Facts: factList("engine", "docker", "machine", "the same as tare")}, controller("X")}, factList("cpu_model", "X")},
		{"an engine elsewhere", []result.Host{{Name: "a", Facts: factList("engine", "tcp://h", "machine", "not tare: its CPU is not known")}, controller("X")}, factList("engine", "tcp://h")},
		{"an older run", []result.Host{{Name: "a", Facts: factList("engine", "docker")}, controller("X")}, factList("a engine", "docker", "tare cpu_model", "X")},
		{
			"one here, one elsewhere",
			[]result.Host{
				{Name: "a", Facts: factList("engine", "docker", "address", "10.0.0.1", "machine", "the same as tare")},
				{Name: "b", Facts: factList("engine", "tcp://h", "address", "10.0.0.2", "machine", "not tare: its CPU is not known")}, controller("X"),
			},
			factList("b engine", "tcp://h", "b address", "10.0.0.2", "tare cpu_model", "X"),
		},
		{"the same as nothing", []result.Host{{Name: "a", Facts: factList("machine", "the same as z", "cpu_model", "X")}}, factList("cpu_model", "X")},
		{"no host", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := analysis.MachineOf(result.Run{Hosts: tt.hosts}); cmp.Diff(tt.want, got) != "" {
				t.Error(cmp.Diff(tt.want, got))
			}
		})
	}
}

// A run's file may have any content.
func TestMachineOfHostile(t *testing.T) {
	key, facts := analysis.MachineOf(labRun("cpu_model", strings.Repeat("é", 1<<20), "microcode", "0x1\" hypervisor=\"KVM\n"))
	other, _ := analysis.MachineOf(labRun("cpu_model", strings.Repeat("é", 200), "microcode", "0x1", "hypervisor", "KVM"))
	if len(facts) != 2 || len(key) > 1000 || key == other || strings.Contains(key, "\n") {
		t.Errorf("%d facts, key of %d bytes: %.300q", len(facts), len(key), key)
	}
}
