package thread

import (
	"fmt"
	_ "unsafe" // for go:linkname
)

// The function of libSystem is called as golang.org/x/sys calls others, without cgo: its trampoline
// is in libsystem_darwin.s.

//go:cgo_import_dynamic libc_pthread_set_qos_class_self_np pthread_set_qos_class_self_np "/usr/lib/libSystem.B.dylib"

var libc_pthread_set_qos_class_self_np_trampoline_addr uintptr //nolint:gochecknoglobals,revive,staticcheck // set by the linker, as in x/sys

//go:linkname syscall_syscall syscall.syscall
func syscall_syscall(fn, a1, a2, a3 uintptr) (r1, r2 uintptr, err uintptr)

// userInteractive is QOS_CLASS_USER_INTERACTIVE.
const userInteractive = 0x21

// Pin cannot bind a thread to a CPU: macOS has no call for it, so that a CPU is an error. Without one it
// asks for the class of service of work that a user waits for, with which macOS prefers performance
// cores. Whether it complies is not told.
func Pin(cpu int) error {
	if cpu >= 0 {
		return fmt.Errorf("pin to CPU %d: this system does not support it; use placement free", cpu)
	}
	_, _, _ = syscall_syscall(libc_pthread_set_qos_class_self_np_trampoline_addr, userInteractive, 0, 0) // a preference only
	return nil
}

// PinForChild is Pin for a thread that starts another program.
func PinForChild(cpu int) error { return Pin(cpu) }
