package facts

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"tare/internal/testkit/must"
)

// cpuinfo is the start of /proc/cpuinfo of an x86 machine of two CPUs, with flags in addition to those of any CPU.
func cpuinfo(model, microcode, flags string) string {
	one := "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: " + model + "\nstepping\t: 7\nmicrocode\t: " + microcode +
		"\ncpu MHz\t\t: 2500.000\nflags\t\t: fpu vme de pse tsc " + flags + "\nbugs\t\t: spectre_v1\n\n"
	return "processor\t: 0\n" + one + "processor\t: 1\n" + one
}

const (
	altra = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\n"
	apple = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x61\nCPU variant\t: 0x1\nCPU part\t: 0x022\nCPU revision\t: 1\n\n" +
		"processor\t: 1\nFeatures\t: fp asimd\nCPU implementer\t: 0x61\nCPU variant\t: 0x1\nCPU part\t: 0x023\nCPU revision\t: 2\n\n"
)

func TestHypervisor(t *testing.T) {
	xeon := cpuinfo("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", "0x5003707", "sse2")
	guest := cpuinfo("Intel(R) Xeon(R) Processor", "0x1", "hypervisor sse2")
	const dmi, clocks = "sys/class/dmi/id/", "sys/devices/system/clocksource/clocksource0/available_clocksource"
	x86 := []string{"family 6, model 85, stepping 7"}
	tests := []struct {
		name       string
		files      map[string]string
		cpuid      []string
		hypervisor string
		stepping   string
		microcode  string // empty: no such fact
	}{
		{
			"bare metal", map[string]string{"proc/cpuinfo": xeon, dmi + "sys_vendor": "Dell Inc.", dmi + "product_name": "PowerEdge R640"}, nil,
			"none seen (/proc/cpuinfo has no flag hypervisor)", x86[0], "0x5003707",
		},
		{
			"KVM by its signature", map[string]string{"proc/cpuinfo": guest}, []string{"KVMKVMKVM\x00\x00\x00", "\x06\x00\x00\x00junk\x00\x00\x00\x00"},
			"KVM (CPUID signature KVMKVMKVM)", x86[0], "0x1",
		},
		{
			"KVM that imitates Hyper-V", map[string]string{"proc/cpuinfo": guest}, []string{"Microsoft Hv", "KVMKVMKVM\x00\x00\x00"},
			"KVM (CPUID signature KVMKVMKVM)", x86[0], "0x1",
		},
		{"KVM by its clock", map[string]string{"proc/cpuinfo": guest, clocks: "kvm-clock tsc \n"}, nil, "KVM (clock source kvm-clock)", x86[0], "0x1"},
		{
			"VMware by its signature", map[string]string{"proc/cpuinfo": guest}, []string{"VMwareVMware"},
			"VMware (CPUID signature VMwareVMware)", x86[0], "0x1",
		},
		{
			"VMware by its firmware", map[string]string{"proc/cpuinfo": guest, dmi + "sys_vendor": "VMware, Inc.\n", dmi + "product_name": "VMware7,1\n"}, nil,
			"VMware (DMI: VMware7,1)", x86[0], "0x1",
		},
		{
			"Hyper-V by its signature", map[string]string{"proc/cpuinfo": cpuinfo("AMD EPYC 7763", "0xffffffff", "hypervisor")}, []string{"Microsoft Hv", "0\x00\x00\x00"},
			"Hyper-V (CPUID signature Microsoft Hv)", x86[0], "0xffffffff",
		},
		{
			"Hyper-V on ARM", map[string]string{"proc/cpuinfo": altra, dmi + "sys_vendor": "Microsoft Corporation", dmi + "product_name": "Virtual Machine"}, nil,
			"Hyper-V (DMI: Microsoft Corporation, Virtual Machine)", "variant 0x3, revision 1", "",
		},
		{
			"a computer of Hyper-V's maker", map[string]string{"proc/cpuinfo": altra, dmi + "sys_vendor": "Microsoft Corporation", dmi + "product_name": "Surface Pro X"}, nil,
			"unknown: not shown by this kind of CPU; the firmware names Surface Pro X, Microsoft Corporation", "variant 0x3, revision 1", "",
		},
		{"Xen", map[string]string{"proc/cpuinfo": guest, "sys/hypervisor/type": "xen\n", clocks: "xen tsc"}, []string{"XenVMMXenVMM"}, "Xen (/sys/hypervisor/type)", x86[0], "0x1"},
		{"Xen's first domain", map[string]string{"proc/cpuinfo": xeon, "sys/hypervisor/type": "xen\n"}, nil, "Xen (/sys/hypervisor/type)", x86[0], "0x5003707"},
		{"Xen without sysfs", map[string]string{"proc/cpuinfo": guest}, []string{"XenVMMXenVMM"}, "Xen (CPUID signature XenVMMXenVMM)", x86[0], "0x1"},
		{"KVM on ARM", map[string]string{"proc/cpuinfo": altra, "proc/device-tree/hypervisor/compatible": "linux,kvm\x00"}, nil, "KVM (device tree: linux,kvm)", "variant 0x3, revision 1", ""},
		{
			"EC2 on ARM", map[string]string{"proc/cpuinfo": altra, dmi + "sys_vendor": "Amazon EC2", dmi + "product_name": "m7g.4xlarge"}, nil,
			"Amazon Nitro (DMI: Amazon EC2)", "variant 0x3, revision 1", "",
		},
		{
			"EC2 on ARM, bare metal", map[string]string{"proc/cpuinfo": altra, dmi + "sys_vendor": "Amazon EC2", dmi + "product_name": "m7g.metal"}, nil,
			"none seen (DMI: m7g.metal, Amazon EC2)", "variant 0x3, revision 1", "",
		},
		{
			"an Apple computer's guest", map[string]string{"proc/cpuinfo": apple, dmi + "product_name": "Apple Virtualization Generic Platform"}, nil,
			"Apple Virtualization (DMI: Apple Virtualization Generic Platform)", "variant 0x1, revision 1; variant 0x1, revision 2", "",
		},
		{"an Apple computer", map[string]string{"proc/cpuinfo": apple}, nil, "unknown: not shown by this kind of CPU", "variant 0x1, revision 1; variant 0x1, revision 2", ""},
		{"nothing names it", map[string]string{"proc/cpuinfo": guest}, nil, "unknown: the CPU shows that there is one, and nothing names it", x86[0], "0x1"},
		{"one that is not known", map[string]string{"proc/cpuinfo": guest}, []string{"HomeMadeVMM\x00"}, "other (CPUID signature HomeMadeVMM)", x86[0], "0x1"},
		{"a signature of nothing", map[string]string{"proc/cpuinfo": guest}, []string{strings.Repeat("\x00", 12)}, "unknown: the CPU shows that there is one, and nothing names it", x86[0], "0x1"},
		{"no microcode", map[string]string{"proc/cpuinfo": "flags : fpu\n"}, nil, "none seen (/proc/cpuinfo has no flag hypervisor)", "unknown: /proc/cpuinfo does not show it", "unknown: /proc/cpuinfo does not show it"},
		{"no file", nil, nil, "unknown: no /proc/cpuinfo", "unknown: no /proc/cpuinfo", "unknown: no /proc/cpuinfo"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &machine{files: files{tree(tt.files)}, reader: answers{cpuid: tt.cpuid}}
			m.hypervisorName()
			m.revision()
			checkForm(t, m.report)
			got := map[string]string{}
			for _, f := range m.report.Facts {
				got[f.Name] = f.Value
			}
			want := map[string]string{"hypervisor": tt.hypervisor, "cpu_stepping": tt.stepping}
			if tt.microcode != "" {
				want["microcode"] = tt.microcode
			}
			must.Equal(t, want, got)
		})
	}
}

// Whatever a hypervisor or its firmware writes there, a fact is short and printable.
func TestHypervisorHostile(t *testing.T) {
	long := "\x1b[31m\u202e" + strings.Repeat("é\u0000", 1<<16) + "\n"
	var cpus strings.Builder
	for _, c := range "abcdefghijklmnop" {
		cpus.WriteString("flags : hypervisor\nmicrocode : " + string(c) + long + "\ncpu family : " + string(c) + long + "\n\n")
	}
	const dmi = "sys/class/dmi/id/"
	for name, found := range map[string]map[string]string{
		"x86":         {"proc/cpuinfo": cpus.String()},
		"firmware":    {"proc/cpuinfo": altra, dmi + "sys_vendor": long, dmi + "product_name": "VMware" + long, dmi + "bios_vendor": long},
		"unknown":     {"proc/cpuinfo": altra, dmi + "sys_vendor": long, dmi + "product_name": long, dmi + "board_vendor": long, dmi + "bios_vendor": long},
		"device tree": {"proc/cpuinfo": altra, "proc/device-tree/hypervisor/compatible": long},
	} {
		t.Run(name, func(t *testing.T) {
			m := &machine{files: files{tree(found)}, reader: answers{cpuid: []string{long}}}
			m.hypervisorName()
			m.revision()
			checkForm(t, m.report)
			must.True(t, len(m.report.Facts) >= 2, "only %v", m.report.Facts)
			for _, f := range m.report.Facts {
				if n := utf8.RuneCountInString(f.Value); n > 400 || strings.ContainsAny(f.Value, "\x00\x1b\u202e") {
					t.Errorf("%s has %d characters: %.100q", f.Name, n, f.Value)
				}
			}
		})
	}
}

// The CPU agrees with the kernel on whether there is a hypervisor.
func TestSignaturesHere(t *testing.T) {
	m := machineOf(os.DirFS("/"), kernel{})
	virtual := false
	for _, f := range m.Facts {
		virtual = virtual || f.Name == "virtualization" && strings.HasPrefix(f.Value, "virtual machine")
	}
	got := cpuidSignatures()
	must.True(t, runtime.GOARCH != "amd64" || runtime.GOOS != "linux" || virtual == (len(got) > 0), "/proc/cpuinfo shows a hypervisor: %v, CPUID %q", virtual, got)
	for _, s := range got {
		must.True(t, len(s) == 12, "signature %q has %d bytes", s, len(s))
	}
}
