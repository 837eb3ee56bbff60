//go:build !linux

package tool

import (
	"fmt"
	"os/exec"
)

// group leaves the process as it is: it is killed by itself, and a tool that
// starts others is not known here.
func group(*exec.Cmd) {}

func pin(cpu int) error {
	if cpu < 0 {
		return nil
	}
	return fmt.Errorf("a tool cannot be pinned to CPU %d on this system: set placement to free", cpu)
}

// granted is unknown here: the tool says so itself where it is less.
func granted(bytes int) int { return bytes }
