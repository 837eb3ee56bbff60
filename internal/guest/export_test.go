//go:build linux

package guest

import "time"

// Hooks make guests that fail.
type Hooks struct {
	Init   string        // the first process, instead of this program
	Frozen bool          // the CPU never runs
	Within time.Duration // instead of BootTimeout
}

// With returns the spec of a guest that fails.
func (s Spec) With(h Hooks) Spec {
	s.init, s.frozen, s.bootTimeout = h.Init, h.Frozen, h.Within
	return s
}

// HangUp closes the port to the guest.
func (m *Machine) HangUp() { m.qemu.CloseStdin() }
