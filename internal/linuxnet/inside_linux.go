package linuxnet

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// StartInside starts cmd, whose program has an absolute path, in the mount and PID namespaces of a process: it sees the files and the process ids that the
// process sees, and ends with the first process of the PID namespace. It requires root.
func StartInside(pid int, cmd *exec.Cmd) error {
	var spaces []*os.File
	for _, kind := range []string{"pid", "mnt"} { // before /proc is another one
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
		if err != nil {
			return fmt.Errorf("enter the namespaces of process %d: %w", pid, err)
		}
		defer f.Close()
		spaces = append(spaces, f)
	}
	return onSpareThread(func() error {
		// A thread that shares its root directory with others cannot enter a mount namespace.
		err := unix.Unshare(unix.CLONE_FS)
		for i, kind := range []int{unix.CLONE_NEWPID, unix.CLONE_NEWNS} {
			if err == nil {
				err = unix.Setns(int(spaces[i].Fd()), kind)
			}
		}
		if err != nil {
			return fmt.Errorf("enter the namespaces of process %d: %w", pid, err)
		}
		return cmd.Start()
	})
}
