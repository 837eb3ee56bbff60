package facts

import "encoding/binary"

// cpuid executes the instruction CPUID with subleaf 0.
func cpuid(leaf uint32) (eax, ebx, ecx, edx uint32)

// cpuidSignatures returns the signatures that the hypervisor shows in the CPUID leaves for
// hypervisors, each of 12 bytes, or nil outside of a virtual machine. A hypervisor that imitates
// another shows its own signature in a later group of leaves.
func cpuidSignatures() []string {
	const present = 1 << 31 // leaf 1, ECX: in a virtual machine. Otherwise the leaves below are undefined
	if _, _, ecx, _ := cpuid(1); ecx&present == 0 {
		return nil
	}
	var out []string
	for leaf := uint32(0x40000000); leaf <= 0x40000300; leaf += 0x100 {
		_, ebx, ecx, edx := cpuid(leaf)
		b := binary.LittleEndian.AppendUint32(nil, ebx)
		b = binary.LittleEndian.AppendUint32(b, ecx)
		b = binary.LittleEndian.AppendUint32(b, edx)
		out = append(out, string(b))
	}
	return out
}
