package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"tare/internal/guest/kernel"
	"tare/internal/linuxnet"
)

// The accelerators.
const (
	KVM = "kvm" // the CPU itself runs the guest
	TCG = "tcg" // QEMU emulates a CPU
)

// kvmDevice is what programs use KVM by.
const kvmDevice = "/dev/kvm"

// Accelerators finds out which accelerator works on this machine, once. That the device
// is there says little: within another virtual machine it may open, and run nothing.
// Its zero value is ready to use.
type Accelerators struct {
	mu   sync.Mutex
	name string // empty until it is known
	why  string // it is no better one
}

// Choose gives the accelerator for guests of a kernel, and where it is TCG the reason.
// asked is the user's choice, empty for none.
func (a *Accelerators) Choose(ctx context.Context, asked string, host *linuxnet.NS, run string, k kernel.Kernel) (name, why string, err error) {
	switch asked {
	case "":
	case KVM, TCG:
		return asked, "it was asked for", nil
	default:
		return "", "", fmt.Errorf("there is no accelerator %q: kvm or tcg", asked)
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
	m, err := Boot(ctx, Spec{Run: run, Label: "kvm", Place: "a guest that tries KVM", Host: host, Kernel: k, Accel: KVM, earlyConsole: true})
	switch _, lacking := AsUnavailable(err); {
	case err == nil:
		a.name = KVM
		return a.name, "", m.Close()
	case lacking || ctx.Err() != nil:
		return "", "", err // of another kind: nothing is known yet
	}
	var dumb *silentError
	if a.name, a.why = TCG, fmt.Sprintf("KVM was tried and runs no guest here: %v", err); errors.As(err, &dumb) {
		a.why = fmt.Sprintf("KVM was tried and runs no guest here: %v", dumb)
	}
	return a.name, a.why, nil
}
