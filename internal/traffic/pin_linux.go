package traffic

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// pin binds the calling thread to a CPU, unless that is negative.
func pin(cpu int) error {
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
