package private

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// initPrefix starts each line that Init writes into the engine's log.
const initPrefix = "tare " + InitCommand + ": "

// longestName is the kernel's limit for a host name in bytes.
const longestName = 64

// Init is the first process of a private engine, in PID, mount and network namespaces that its
// parent has created. Its arguments are those after the subcommand's name: --run ID --dir DIR --
// DOCKERD ARGS... . It mounts the engine's file systems, starts dockerd, reaps orphans, and returns
// how dockerd ended. When stdin ends it exits at once. In both cases the kernel then kills all
// other processes of the engine.
func Init(args []string) error {
	return fmt.Errorf("%s%w", initPrefix, runInit(args))
}

func runInit(args []string) error {
	at := slices.Index(args, "--")
	if at != 4 || args[0] != "--run" || args[2] != "--dir" || len(args) < 6 {
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
	if err := makeMounts(args[3]); err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	command := args[5:]
	dockerd, err := os.StartProcess(command[0], command, &os.ProcAttr{Files: []*os.File{null, os.Stdout, os.Stderr}})
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
			return fmt.Errorf("wait for dockerd: %w", err)
		case pid == dockerd.Pid && status.Signaled():
			return fmt.Errorf("dockerd ended (signal: %v)", status.Signal())
		case pid == dockerd.Pid && status.Exited():
			return fmt.Errorf("dockerd ended (exit status %d)", status.ExitStatus())
		}
	}
}
