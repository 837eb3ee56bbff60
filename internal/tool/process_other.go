//go:build !linux

package tool

import "os/exec"

// group leaves the process as it is: it is killed by itself, and a tool that
// starts others is not known here.
func group(*exec.Cmd) {}

// granted is unknown here: the tool says so itself where it is less.
func granted(bytes int) int { return bytes }
