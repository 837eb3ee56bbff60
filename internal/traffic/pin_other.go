//go:build !linux

package traffic

import "fmt"

func pin(cpu int) error {
	if cpu < 0 {
		return nil
	}
	return fmt.Errorf("pin to CPU %d: this system has no such call; use placement free", cpu)
}
