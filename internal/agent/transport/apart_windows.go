package transport

import "syscall"

// apart gives an agent a process group of its own, which no Ctrl-C reaches.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
