package thread

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Pin binds the calling thread to a CPU. A negative cpu does
// nothing. Use it on a locked thread that ends with its work.
func Pin(cpu int) error {
	if cpu < 0 {
		return nil
	}
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin to CPU %d: %w", cpu, err)
	}
	return nil
}

// PinForChild binds the calling thread so that a program that it starts is bound, too.
func PinForChild(cpu int) error { return Pin(cpu) }
