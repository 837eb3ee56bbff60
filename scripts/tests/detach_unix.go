//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// detach keeps the terminal's signals from a program, which ends with its input.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
