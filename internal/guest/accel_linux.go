package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"tare/internal/guest/kernel"
	"tare/internal/linuxnet"
)

// The accelerators.
const (
	KVM = "kvm" // the CPU runs the guest directly
	TCG = "tcg" // QEMU emulates a CPU
)

// kvmDevice is the device of KVM.
const kvmDevice = "/dev/kvm"

// kvmTestTimeout bounds the boot of the guest that tests KVM, not counting the time it waited for a
// CPU. A working KVM boots it in about a second; a longer wait would use up the time of the set-up
// that needs the answer.
const kvmTestTimeout = 15 * time.Second

// Accelerators determines once which accelerator works on this machine. The presence of the device
// is not enough: within another virtual machine it may open and still run nothing. The zero value
// is ready to use.
type Accelerators struct {
	mu   sync.Mutex
	name string // empty until known
	why  string // the reason why it is not KVM
}

// Choose returns the accelerator for guests of a kernel, and the reason if it is TCG. requested is
// the user's choice, empty for none.
func (a *Accelerators) Choose(ctx context.Context, requested string, host *linuxnet.NS, run string, k kernel.Kernel) (name, why string, err error) {
	switch requested {
	case "":
	case KVM, TCG:
		return requested, "requested by the user", nil
	default:
		return "", "", fmt.Errorf("there is no accelerator %q; use kvm or tcg", requested)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.name != "" {
		return a.name, a.why, nil
	}
	f, err := os.OpenFile(kvmDevice, os.O_RDWR, 0)
	if err != nil {
		a.name, a.why = TCG, fmt.Sprintf("KVM cannot be used: %v", err)
		return a.name, a.why, nil
	}
	f.Close()
	m, err := Boot(ctx, Spec{Run: run, Label: "kvm", Place: "a guest that tests KVM", Host: host, Kernel: k, Accel: KVM, earlyConsole: true, bootTimeout: kvmTestTimeout})
	switch _, missing := AsUnavailable(err); {
	case err == nil:
		a.name = KVM
		return a.name, "", m.Close()
	case missing || ctx.Err() != nil:
		return "", "", err // another problem: it is not yet known whether KVM works
	}
	var silent *silentError
	if a.name, a.why = TCG, fmt.Sprintf("KVM did not run a test guest on this machine: %v", err); errors.As(err, &silent) {
		a.why = fmt.Sprintf("KVM did not run a test guest on this machine: %v", silent)
	}
	return a.name, a.why, nil
}
