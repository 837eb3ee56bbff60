//go:build !linux && !windows && !darwin

package thread

import "fmt"

// Pin cannot bind a thread on this system: it returns an error unless cpu is negative.
func Pin(cpu int) error {
	if cpu < 0 {
		return nil
	}
	return fmt.Errorf("pin to CPU %d: this system does not support it; use placement free", cpu)
}

// PinForChild is Pin for a thread that starts another program.
func PinForChild(cpu int) error { return Pin(cpu) }
