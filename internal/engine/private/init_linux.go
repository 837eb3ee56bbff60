package private

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// initPrefix starts each line that Init writes into the engine's log.
const initPrefix = "tare " + InitCommand + ": "

// rootlessFlag is the argument of Init for an engine of an ordinary user.
const rootlessFlag = "--rootless"

// longestName is the kernel's limit for a host name in bytes.
const longestName = 64

// Init is the first process of a private engine, in PID, mount and network namespaces that its
// parent has created. Its arguments are those after the subcommand's name: --run ID --dir DIR
// [--rootless | --podman-user UID] -- PROGRAM ARGS... . It mounts the engine's file systems, starts the
// program, which is dockerd, RootlessKit with dockerd, or podman, reaps orphans, and returns how the
// program ended. On restartLine on stdin it ends the program in order and starts it again. When stdin
// ends it exits at once. When it exits, the kernel kills all other processes of the engine.
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
	restarts := make(chan struct{}, 1)
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			if lines.Text() == restartLine {
				select {
				case restarts <- struct{}{}:
				default: // one is to come
				}
			}
		}
		os.Exit(0)
	}()
	// A separate host name distinguishes the nodes of a Swarm and identifies the engine to people.
	host := filepath.Base(args[3])
	if err := unix.Sethostname([]byte(host[:min(len(host), longestName)])); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	start, err := starterOf(args[4:at])
	if err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	command := args[at+1:]
	name := filepath.Base(command[0])
	files := []*os.File{null, os.Stdout, os.Stderr}
	process, err := start(args[3], command, files)
	if err != nil {
		return err
	}
	program := &supervised{command: command, files: files, process: process}
	go func() {
		for range restarts {
			program.end()
		}
	}()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for %s: %w", name, err)
		case program.is(pid) && (status.Signaled() || status.Exited()):
			if !status.Exited() || status.ExitStatus() != 0 {
				return ended(name, status) // a crash is no restart
			}
			switch again, err := program.startAgain(); {
			case err != nil:
				return fmt.Errorf("start %s again: %w", name, err)
			case !again:
				return ended(name, status)
			}
		}
	}
}

// ended is how a program has ended.
func ended(name string, status syscall.WaitStatus) error {
	if status.Signaled() {
		return fmt.Errorf("%s ended (signal: %v)", name, status.Signal())
	}
	return fmt.Errorf("%s ended (exit status %d)", name, status.ExitStatus())
}

// starter makes the mounts of an engine, whose directory is given, and starts its program.
type starter func(dir string, command []string, files []*os.File) (*os.Process, error)

// starterOf returns the starter that the flags of Init between the engine's directory and its program
// ask for.
func starterOf(flags []string) (starter, error) {
	switch {
	case len(flags) == 0:
		return startAsRoot, nil
	case slices.Equal(flags, []string{rootlessFlag}):
		return startAsUser, nil
	case len(flags) == 2 && flags[0] == podmanUserFlag:
		id, err := strconv.ParseUint(flags[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", podmanUserFlag, err)
		}
		return podmanStarter(uint32(id)), nil
	}
	return nil, fmt.Errorf("unknown flags %q", flags)
}

// startAsRoot starts dockerd.
func startAsRoot(dir string, command []string, files []*os.File) (*os.Process, error) {
	if err := makeMounts(dir); err != nil {
		return nil, err
	}
	return os.StartProcess(command[0], command, &os.ProcAttr{Files: files})
}
