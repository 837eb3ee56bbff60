//go:build unix

package machine

import "syscall"

// canShare reports whether ssh can share a connection on this system.
const canShare = true

// withoutTerminal starts ssh in a session of its own: neither it nor an ssh to a jump host, which
// does not get the options of the first, then has a terminal on which to ask for a password.
func withoutTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
