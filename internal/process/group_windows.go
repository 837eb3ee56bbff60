package process

import (
	"os"
	"syscall"
)

// apart puts a process into its own process group, so that Ctrl-C does not reach it.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup kills p only: this system cannot kill a group.
func killGroup(p *os.Process) error { return p.Kill() }
