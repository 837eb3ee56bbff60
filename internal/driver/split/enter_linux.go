package split

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
)

// Enter becomes another subcommand of this program in a network namespace that a process has
// open. args are those after the name of the subcommand: --run ID PID FD, and the arguments
// of the other subcommand.
func Enter(args []string) error {
	const fixed = 4
	if len(args) <= fixed {
		return errors.New("the process, its file descriptor and a subcommand are missing")
	}
	pid, err := strconv.Atoi(args[2])
	if err != nil {
		return fmt.Errorf("process id %q: %w", args[2], err)
	}
	fd, err := strconv.Atoi(args[3])
	if err != nil {
		return fmt.Errorf("file descriptor %q: %w", args[3], err)
	}
	ns, err := linuxnet.OpenNS("of the sandbox", namespacePath(pid, fd))
	if err != nil {
		return err
	}
	// The kernel ends the other threads, and the process has the namespace of this one.
	return ns.Do(func() error {
		return fmt.Errorf("start in the sandbox: %w", unix.Exec("/proc/self/exe", append([]string{"tare"}, args[fixed:]...), os.Environ()))
	})
}

// namespacePath returns the path of a namespace that a process has open.
func namespacePath(pid, fd int) string { return fmt.Sprintf("/proc/%d/fd/%d", pid, fd) }
