//go:build !linux

package thread

import "fmt"

// Pin can only leave the calling thread where it is: an error unless cpu is
// negative.
func Pin(cpu int) error {
	if cpu < 0 {
		return nil
	}
	return fmt.Errorf("pin to CPU %d: this system has no such call; use placement free", cpu)
}
