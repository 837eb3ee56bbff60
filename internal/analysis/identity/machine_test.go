package identity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/analysis/changes"
	"tare/internal/analysis/identity"
	"tare/internal/result"
	"tare/internal/testkit/must"
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
	key, facts := identity.Of(labRun(reference...))
	want := factList("cpu_model", "Intel(R) Xeon(R) Processor", "cpu_stepping", "family 6, model 167, stepping 1", "microcode", "0x1", "hypervisor", "KVM", "cpus", "2")
	must.Equal(t, want, facts)
	for what, same := range map[string][]string{
		"another kernel":           with("kernel", "6.19"),
		"found in another way":     with("hypervisor", "KVM (the clock source kvm-clock)"),
		"CPUs with other numbers":  with("cpus_online", "2 (0,2)"),
		"a calibration":            append(with(), "calibration_syscall", "90 ns"),
		"the load at another time": append(with(), "load_average", "1 2 3"),
	} {
		other, _ := identity.Of(labRun(same...))
		must.True(t, other == key, "%s: the key is %s, not %s", what, other, key)
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
		other, _ := identity.Of(labRun(differs...))
		must.True(t, seen[other] == "", "%s has the key of %s: %s", what, seen[other], other)
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
			if _, got := identity.Of(result.Run{Hosts: tt.hosts}); cmp.Diff(tt.want, got) != "" {
				t.Error(cmp.Diff(tt.want, got))
			}
		})
	}
}

// A run's file may have any content.
func TestMachineOfHostile(t *testing.T) {
	key, facts := identity.Of(labRun("cpu_model", strings.Repeat("é", 1<<20), "microcode", "0x1\" hypervisor=\"KVM\n"))
	other, _ := identity.Of(labRun("cpu_model", strings.Repeat("é", 200), "microcode", "0x1", "hypervisor", "KVM"))
	must.True(t, len(facts) == 2 && len(key) <= 1000 && key != other && !strings.Contains(key, "\n"), "%d facts, key of %d bytes: %.300q", len(facts), len(key), key)
}

func TestMachineDifferences(t *testing.T) {
	calibrated := func(changed ...string) []string {
		return append(with(changed...), "calibration_syscall", "81.0 ns", "calibration_copy", "52.7 GB/s", "calibration_switch", "2040 ns", "calibration_packet", "unknown: not permitted")
	}
	replaced := func(name, value string) []string {
		out := calibrated()
		for i := 0; i < len(out); i += 2 {
			if out[i] == name {
				out[i+1] = value
			}
		}
		return out
	}
	tests := []struct {
		name  string
		after []string
		want  []result.Difference
	}{
		{"the same", calibrated(), nil},
		{"another kernel", calibrated("kernel", "6.19"), nil},
		{"not recorded", calibrated("microcode", "", "hypervisor", "unknown: no /proc/cpuinfo", "cpu_model", ""), nil},
		{"found in another way", calibrated("hypervisor", "KVM (clock source kvm-clock)"), nil},
		{
			"another microcode and more CPUs", calibrated("microcode", "0x2b000603", "cpus_online", "4 (0-3)"),
			[]result.Difference{{Scope: "host a", Name: "microcode", Before: "0x1", After: "0x2b000603"}, {Scope: "host a", Name: "cpus_online", Before: "2 (0-1)", After: "4 (0-3)"}},
		},
		{"what repetition explains", replaced("calibration_switch", "1640 ns"), nil},
		{"slower than that", replaced("calibration_switch", "2600 ns"), []result.Difference{{Scope: "host a", Name: "calibration_switch", Before: "2040 ns", After: "2600 ns"}}},
		{"faster than that", replaced("calibration_switch", "1600 ns"), []result.Difference{{Scope: "host a", Name: "calibration_switch", Before: "2040 ns", After: "1600 ns"}}},
		{"copies faster than that", replaced("calibration_copy", "8.10 GB/s"), []result.Difference{{Scope: "host a", Name: "calibration_copy", Before: "52.7 GB/s", After: "8.10 GB/s"}}},
		{"slower with another kernel", append(replaced("calibration_switch", "2600 ns"), "mitigations", "9 on"), nil},
		{
			"slower copies with another kernel", append(replaced("calibration_copy", "8.10 GB/s"), "mitigations", "9 on"),
			[]result.Difference{{Scope: "host a", Name: "calibration_copy", Before: "52.7 GB/s", After: "8.10 GB/s"}},
		},
		{"another unit", replaced("calibration_copy", "8.10 MB/s"), nil},
		{"known in one only", replaced("calibration_packet", "930 ns"), nil},
		{"no number", replaced("calibration_switch", "fast ns"), nil},
		{"zero, which none has", replaced("calibration_switch", "0 ns"), nil},
		{"no number of IEEE 754", replaced("calibration_switch", "NaN ns"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, after := labRun(calibrated()...), labRun(tt.after...)
			must.Equal(t, tt.want, identity.Differences(before, after))
			changes := changes.Across(changes.RunTrials{Run: before}, changes.RunTrials{Run: after}, nil, 0.05)
			must.EqualFor(t, fmt.Sprintf("warnings: %v", changes.Warnings), len(tt.want) > 0, len(changes.Warnings) > 0)
			for _, d := range changes.Environment {
				must.True(t, !strings.HasPrefix(d.Name, "calibration"), "a value that varies from run to run is a difference: %v", d)
			}
		})
	}
}

// The warning names what differs, and says whether more than the calibration does.
func TestMachineWarning(t *testing.T) {
	only := "the two runs are of different machines, or this machine was faster at one of them (its own host, its CPU's speed, other programs), and ratios differ with that: " +
		"calibration_syscall of host a was 81.0 ns and is 160 ns. Repeat the earlier run now."
	warned := func(after []string) string {
		c := changes.Across(changes.RunTrials{Run: labRun(append(with(), "calibration_syscall", "81.0 ns")...)}, changes.RunTrials{Run: labRun(after...)}, nil, 0.05)
		must.Require(t, len(c.Warnings) == 1 && c.Warnings[0].Code == "different_machines", "warnings: %v", c.Warnings)
		return c.Warnings[0].Text
	}
	want := "the two runs are of different machines, and ratios differ between machines: microcode of host a was 0x1 and is 0x2. Repeat the earlier run on this machine."
	must.Equal(t, want, warned(with("microcode", "0x2")))
	must.Equal(t, only, warned(append(with(), "calibration_syscall", "160 ns")))
	got := warned(with("microcode", strings.Repeat("x", 1<<20)))
	must.True(t, len(got) <= 500, "a text of %d bytes", len(got))
}
