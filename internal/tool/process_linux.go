package tool

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// group gives the process a group of its own, which is killed as one, and has
// the kernel kill it with the agent.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// granted is how large a socket buffer the kernel lets a tool have of the bytes
// it asks for: tools do not ask past rmem_max and wmem_max.
func granted(bytes int) int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return bytes
	}
	defer unix.Close(fd)
	least := bytes
	for _, option := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, bytes) != nil {
			continue
		}
		// The kernel books twice the size, and says so.
		if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option); err == nil {
			least = min(least, got/2)
		}
	}
	return least
}
