package private

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// initPrefix starts each line that Init writes into the engine's log.
const initPrefix = "tare " + InitCommand + ": "

// longestName is the kernel's limit for a host name in bytes.
const longestName = 64

// Init is the first process of a private engine, in PID, mount and network namespaces that its
// parent has created. Its arguments are those after the subcommand's name: --run ID --dir DIR
// [--podman-user UID] -- DAEMON ARGS... . It mounts the engine's file systems, starts its daemon,
// reaps orphans, and returns how the daemon ended. When stdin ends it exits at once. In both cases the kernel then kills all
// other processes of the engine.
func Init(args []string) error {
	return fmt.Errorf("%s%w", initPrefix, runInit(args))
}

func runInit(args []string) error {
	at := slices.Index(args, "--")
	if at < 4 || args[0] != "--run" || args[2] != "--dir" || len(args) < at+2 {
		return errors.New("only tare itself starts this subcommand, for an engine of a lab")
	}
	if os.Getpid() != 1 {
		return fmt.Errorf("is process %d; it must be the first of its PID namespace", os.Getpid())
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	// A separate host name distinguishes the nodes of a Swarm and identifies the engine to people.
	name := filepath.Base(args[3])
	if err := unix.Sethostname([]byte(name[:min(len(name), longestName)])); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	user, err := prepare(args[3], args[4:at])
	if err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	command := args[at+1:]
	called := filepath.Base(command[0])
	daemon, err := os.StartProcess(command[0], command, &os.ProcAttr{Files: []*os.File{null, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Credential: user}})
	if err != nil {
		return err
	}
	null.Close()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for %s: %w", called, err)
		case pid == daemon.Pid && status.Signaled():
			return fmt.Errorf("%s ended (signal: %v)", called, status.Signal())
		case pid == daemon.Pid && status.Exited():
			return fmt.Errorf("%s ended (exit status %d)", called, status.ExitStatus())
		}
	}
}

// prepare mounts an engine's file systems. It returns the user that its daemon runs as, nil for that
// of this process. flags are Init's between the engine's directory and its daemon.
func prepare(dir string, flags []string) (*syscall.Credential, error) {
	if len(flags) == 0 {
		return nil, makeMounts(dir)
	}
	if len(flags) != 2 || flags[0] != podmanUserFlag {
		return nil, fmt.Errorf("unknown flags %q", flags)
	}
	id, err := strconv.ParseUint(flags[1], 10, 32)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", podmanUserFlag, err)
	}
	if err := podmanMounts(dir, int(id)); err != nil {
		return nil, err
	}
	if id == 0 {
		return nil, nil
	}
	return &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}, nil
}
