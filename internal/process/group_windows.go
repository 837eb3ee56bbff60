package process

import (
	"os"
	"syscall"
)

// apart gives a process a group of its own, which no Ctrl-C reaches.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup kills p alone: groups have no end of their own here.
func killGroup(p *os.Process) error { return p.Kill() }
