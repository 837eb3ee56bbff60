//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// detach keeps the terminal's signals from a program, which ends with its input.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// inGroup runs a program in a process group of its own, which is interrupted as a whole when the program's context
// ends: go test leaves it to the terminal to interrupt the test programs.
func inGroup(cmd *exec.Cmd) {
	detach(cmd)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}
