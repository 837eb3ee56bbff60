//go:build unix

package transport

import "syscall"

// apart gives an agent a process group of its own.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
