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

// initPrefix begin each line that Init writes into the engine's log.
const initPrefix = "tare " + InitCommand + ": "

// longestName is what the kernel takes for a host's name, in bytes.
const longestName = 64

// Init is the first process of a private engine, in a namespace of process ids, of
// mounts and of a network that its parent made. Its arguments are those behind the
// subcommand's name: --run ID --dir DIR -- DOCKERD ARGS... . It gives the engine
// its mounts, starts dockerd, takes in orphans, and returns how dockerd ended; when
// stdin comes to its end it exits at once. Either way the kernel then ends
// whatever else runs on the engine.
func Init(args []string) error {
	return fmt.Errorf("%s%w", initPrefix, runInit(args))
}

func runInit(args []string) error {
	at := slices.Index(args, "--")
	if at != 4 || args[0] != "--run" || args[2] != "--dir" || len(args) < 6 {
		return errors.New("is started by tare itself, for an engine of a lab")
	}
	if os.Getpid() != 1 {
		return fmt.Errorf("is process %d; it has to be the first of its namespace", os.Getpid())
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	// A name of its own tells the nodes of a Swarm apart, and whoever looks at the
	// engine what it is.
	name := filepath.Base(args[3])
	if err := unix.Sethostname([]byte(name[:min(len(name), longestName)])); err != nil {
		return fmt.Errorf("name the host: %w", err)
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
