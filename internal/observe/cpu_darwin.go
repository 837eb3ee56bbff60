package observe

import (
	"bytes"
	"fmt"
	"unsafe"
)

// The functions of libSystem are called as golang.org/x/sys calls others, without cgo: their
// trampolines are in libsystem_darwin.s.

//go:cgo_import_dynamic libc_mach_host_self mach_host_self "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_mach_task_self mach_task_self "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_host_processor_info host_processor_info "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_vm_deallocate vm_deallocate "/usr/lib/libSystem.B.dylib"

var (
	libc_mach_host_self_trampoline_addr      uintptr //nolint:gochecknoglobals,revive,staticcheck // set by the linker, as in x/sys
	libc_mach_task_self_trampoline_addr      uintptr //nolint:gochecknoglobals,revive,staticcheck // set by the linker, as in x/sys
	libc_host_processor_info_trampoline_addr uintptr //nolint:gochecknoglobals,revive,staticcheck // set by the linker, as in x/sys
	libc_vm_deallocate_trampoline_addr       uintptr //nolint:gochecknoglobals,revive,staticcheck // set by the linker, as in x/sys
)

//go:linkname syscall_syscall6 syscall.syscall6
func syscall_syscall6(fn, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, err uintptr)

// processorLoad is PROCESSOR_CPU_LOAD_INFO.
const processorLoad = 2

// readCPU asks the kernel; the path is for systems with procfs.
func readCPU(string) (*cpuSample, error) {
	var cpus, words uint32
	var info *byte
	host, _, _ := syscall_syscall6(libc_mach_host_self_trampoline_addr, 0, 0, 0, 0, 0, 0)
	// The pointers are converted in the call itself, so that nothing moves meanwhile.
	code, _, _ := syscall_syscall6(libc_host_processor_info_trampoline_addr, host, processorLoad,
		uintptr(unsafe.Pointer(&cpus)), uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&words)), 0)
	if int32(code) != 0 {
		return nil, fmt.Errorf("host_processor_info: error %d", int32(code))
	}
	size := 4 * int(words)
	if info == nil || size != processorLoadSize*int(cpus) {
		return nil, fmt.Errorf("host_processor_info: %d words for %d CPUs", words, cpus)
	}
	load := bytes.Clone(unsafe.Slice(info, size))
	// The kernel maps the array into this process at each call.
	task, _, _ := syscall_syscall6(libc_mach_task_self_trampoline_addr, 0, 0, 0, 0, 0, 0)
	_, _, _ = syscall_syscall6(libc_vm_deallocate_trampoline_addr, task, uintptr(unsafe.Pointer(info)), uintptr(size), 0, 0, 0)
	return parseProcessorLoad(load)
}
