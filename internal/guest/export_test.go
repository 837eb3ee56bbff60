//go:build linux

package guest

import "time"

// Hooks let tests make guests that go wrong.
type Hooks struct {
	Init   string        // the first process, in place of this program
	Frozen bool          // the CPU never runs
	Within time.Duration // in place of HelloWithin
}

// With is a guest that goes wrong.
func (s Spec) With(h Hooks) Spec {
	s.init, s.frozen, s.bootTimeout = h.Init, h.Frozen, h.Within
	return s
}

// HangUp lets the guest know that nobody is there any more.
func (m *Machine) HangUp() { m.qemu.CloseStdin() }
