package machine

import "syscall"

// canShare reports whether ssh can share a connection on this system. That of Windows cannot:
// each start of a program there is a connection of its own.
const canShare = false

// detachedProcess is DETACHED_PROCESS of CreateProcess: ssh gets no console on which to ask.
const detachedProcess = 0x8

func withoutTerminal() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
