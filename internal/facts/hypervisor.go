package facts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// noHypervisor is the fact of a machine that shows no hypervisor.
const noHypervisor = "none seen"

// hypervisorName records the hypervisor by name, with how it was found.
func (m *machine) hypervisorName() {
	name, by, err := m.findHypervisor()
	m.factOr("hypervisor", fmt.Sprintf("%s (%s)", name, by), err)
}

// findHypervisor returns the name of the hypervisor and how it was found. It tries the kernel's own
// statement, the CPU's, the device tree, the clock sources and the firmware, the most certain first.
// An error says why it is not known.
func (m *machine) findHypervisor() (name, by string, err error) {
	if kind, err := readFile(m.fsys, "sys/hypervisor/type"); err == nil && kind == "xen" {
		return "Xen", "/sys/hypervisor/type", nil // also in its first domain, whose CPUs have no flag
	}
	text, err := m.readText("proc/cpuinfo")
	if err != nil {
		return "", "", err
	}
	flags, x86 := field(text, "flags")
	if x86 && !slices.Contains(strings.Fields(flags), "hypervisor") {
		return noHypervisor, "/proc/cpuinfo has no flag hypervisor", nil
	}
	if m.reader != nil {
		if name, signature := nameBySignature(m.reader.HypervisorSignatures()); name != "" {
			return name, "CPUID signature " + signature, nil
		}
	}
	if name, compatible := m.deviceTreeHypervisor(); name != "" {
		return name, "device tree: " + compatible, nil
	}
	clocks, _ := readFile(m.fsys, sysClock+"available_clocksource")
	for _, c := range []struct{ clock, name string }{{"kvm-clock", "KVM"}, {"hyperv_clocksource", "Hyper-V"}, {"xen", "Xen"}} {
		if strings.Contains(clocks, c.clock) {
			return c.name, "clock source " + c.clock, nil
		}
	}
	return m.firmwareHypervisor(x86)
}

// nameBySignature returns the hypervisor that CPUID signatures name, and the signature. Hyper-V's
// is imitated by others, for Windows, so any other one goes before it.
func nameBySignature(signatures []string) (name, signature string) {
	known := map[string]string{
		"KVMKVMKVM": "KVM", "VMwareVMware": "VMware", "XenVMMXenVMM": "Xen", "Microsoft Hv": "Hyper-V", "TCGTCGTCGTCG": "QEMU without KVM",
		"VBoxVBoxVBox": "VirtualBox", "bhyve bhyve": "bhyve", "prl hyperv": "Parallels", "lrpepyh vr": "Parallels", "ACRNACRNACRN": "ACRN",
		"QNXQVMBSQG": "QNX", "VirtualApple": "Apple Rosetta", "OpenBSDVMM58": "OpenBSD vmm", "Jailhouse": "Jailhouse", "___ NVMM ___": "NVMM",
	}
	for _, s := range signatures {
		s = strings.TrimSpace(strings.Trim(s, "\x00"))
		if n := known[s]; n != "" && (name == "" || name == "Hyper-V") {
			name, signature = n, s
		}
	}
	if name == "" && len(signatures) > 0 {
		if s := bounded(signatures[0]); s != "" {
			return "other", s
		}
	}
	return name, signature
}

// deviceTreeHypervisor returns the hypervisor that the device tree of a virtual machine has, and how
// the tree calls it.
func (sys files) deviceTreeHypervisor() (name, compatible string) {
	text, err := readFile(sys.fsys, "proc/device-tree/hypervisor/compatible")
	if err != nil {
		return "", ""
	}
	first, _, _ := strings.Cut(text, "\x00") // the list starts with the most specific
	compatible = bounded(first)
	switch {
	case compatible == "":
		return "", ""
	case strings.HasPrefix(compatible, "linux,kvm"):
		return "KVM", compatible
	case strings.HasPrefix(compatible, "xen"):
		return "Xen", compatible
	case strings.HasPrefix(compatible, "vmware"):
		return "VMware", compatible
	}
	return "other", compatible
}

// firmwareHypervisor returns the hypervisor that the names in the firmware's tables (DMI) are of.
func (sys files) firmwareHypervisor(x86 bool) (name, by string, err error) {
	known := []struct{ text, name string }{
		{"KVM", "KVM"}, {"OpenStack", "KVM"}, {"KubeVirt", "KVM"}, {"Amazon EC2", "Amazon Nitro"}, {"Google Compute Engine", "Google Compute Engine"},
		{"VMware", "VMware"}, {"innotek GmbH", "VirtualBox"}, {"VirtualBox", "VirtualBox"}, {"Xen", "Xen"}, {"Parallels", "Parallels"},
		{"BHYVE", "bhyve"}, {"Apple Virtualization", "Apple Virtualization"}, {"Alibaba Cloud", "Alibaba Cloud"}, {"QEMU", "QEMU"}, {"Bochs", "Bochs"},
	}
	var dmi []string
	for _, f := range []string{"product_name", "sys_vendor", "board_vendor", "bios_vendor"} {
		text, err := readFile(sys.fsys, "sys/class/dmi/id/"+f)
		if text = bounded(text); err == nil && text != "" {
			dmi = append(dmi, text)
		}
	}
	all := strings.Join(dmi, ", ")
	if strings.Contains(all, "Amazon EC2") && len(dmi) > 0 && strings.Contains(dmi[0], ".metal") {
		return noHypervisor, "DMI: " + all, nil
	}
	for _, k := range known {
		i := slices.IndexFunc(dmi, func(text string) bool { return strings.HasPrefix(text, k.text) })
		if i >= 0 {
			return k.name, "DMI: " + dmi[i], nil
		}
	}
	// The same vendor makes computers without a hypervisor.
	if slices.Contains(dmi, "Microsoft Corporation") && slices.Contains(dmi, "Virtual Machine") {
		return "Hyper-V", "DMI: Microsoft Corporation, Virtual Machine", nil
	}
	switch {
	case x86:
		return "", "", errors.New("the CPU shows that there is one, and nothing names it")
	case all != "":
		return "", "", fmt.Errorf("not shown by this kind of CPU; the firmware names %s", all)
	}
	return "", "", errors.New("not shown by this kind of CPU")
}

// bounded returns the printable part of a text that a machine's maker or its hypervisor chose, of at
// most 60 characters.
func bounded(s string) string {
	const most = 60
	out := make([]rune, 0, most)
	for _, r := range s {
		if len(out) == most {
			break
		}
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			out = append(out, r)
		}
	}
	return strings.TrimSpace(string(out))
}

// revision records which CPU of its model this is, and its microcode. Machines with different kinds
// of CPUs have several of them.
func (m *machine) revision() {
	text, err := m.readText("proc/cpuinfo")
	if err != nil {
		m.fact("cpu_stepping", unknown(err))
		m.fact("microcode", unknown(err))
		return
	}
	_, x86 := field(text, "flags")
	stepping := distinct(text, func(cpu string) string {
		if x86 {
			return named(cpu, "family", "cpu family", "model", "model", "stepping", "stepping")
		}
		return named(cpu, "variant", "CPU variant", "revision", "CPU revision")
	})
	if stepping != "" {
		m.fact("cpu_stepping", stepping)
	} else {
		m.fact("cpu_stepping", unknown(errors.New("/proc/cpuinfo does not show it")))
	}
	microcode := distinct(text, func(cpu string) string { v, _ := field(cpu, "microcode"); return v })
	switch {
	case microcode != "":
		m.fact("microcode", microcode)
	case x86: // other kinds of CPUs have none that is shown
		m.fact("microcode", unknown(errors.New("/proc/cpuinfo does not show it")))
	}
}

// distinct joins the different values that of returns for the CPUs of /proc/cpuinfo, in their order.
func distinct(cpuinfo string, of func(cpu string) string) string {
	const most = 4
	var found []string
	for cpu := range strings.SplitSeq(cpuinfo, "\n\n") {
		v := bounded(of(cpu))
		if v == "" || slices.Contains(found, v) {
			continue
		}
		if len(found) == most {
			return strings.Join(found, "; ") + "; and others"
		}
		found = append(found, v)
	}
	return strings.Join(found, "; ")
}

// named returns the values of keys, given as a name and a key in turn: "family 6, model 85".
func named(text string, names ...string) string {
	var parts []string
	for i := 0; i+1 < len(names); i += 2 {
		if v, ok := field(text, names[i+1]); ok && v != "" {
			parts = append(parts, names[i]+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}
