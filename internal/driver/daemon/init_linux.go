package daemon

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// initPrefix begin each line that the first process of a program writes.
const initWords = "tare " + Command + ": "

// Init is the first process of an installed program, in namespaces of process ids and
// mounts that its parent made. args are those behind the subcommand's name: --run ID --
// PROGRAM ARGS... . It reads what else it needs from stdin, gives the program an empty
// /run with its files, starts it, takes in orphans, and returns how it ended; when stdin
// comes to its end it exits at once. Either way the kernel then ends all that is left.
func Init(args []string, stdin io.Reader) error {
	return fmt.Errorf("%s%w", initWords, runInit(args, stdin))
}

func runInit(args []string, stdin io.Reader) error {
	if len(args) < 4 || args[0] != RunFlag || args[2] != "--" {
		return errors.New("is started by tare itself, for a program of a mode")
	}
	if os.Getpid() != 1 {
		return fmt.Errorf("is process %d; it has to be the first of its namespace", os.Getpid())
	}
	// What it spends is tare's, and not the mode's: it bears tare's name.
	if err := os.WriteFile("/proc/self/comm", []byte("tare"), 0); err != nil {
		return fmt.Errorf("take a name: %w", err)
	}
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	var o orders
	if err := json.Unmarshal(line, &o); err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(0)
	}()
	if err := ownRun(o); err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	command := args[3:]
	program, err := os.StartProcess(command[0], command, &os.ProcAttr{Env: append(environment(), o.Env...), Files: []*os.File{null, os.Stdout, os.Stderr}})
	if err != nil {
		return err
	}
	null.Close()
	name := filepath.Base(command[0])
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for %s: %w", name, err)
		case pid == program.Pid && status.Signaled():
			return fmt.Errorf("%s ended (signal: %v)", name, status.Signal())
		case pid == program.Pid && status.Exited():
			return fmt.Errorf("%s ended (exit status %d)", name, status.ExitStatus())
		}
	}
}

// ownRun puts an empty file system over /run, also where /var/run is another
// directory, and makes on it what the program is to find.
func ownRun(o orders) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts its own: %w", err)
	}
	binds := map[string]*os.File{}
	for name, path := range o.Binds { // while /run is still everybody's
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		binds[name] = f
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=700"); err != nil {
		return fmt.Errorf("mount a /run of its own: %w", err)
	}
	if is, err := filepath.EvalSymlinks("/var/run"); err == nil && is != "/run" {
		if err := unix.Mount("/run", is, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount a /var/run of its own: %w", err)
		}
	}
	for _, d := range o.Dirs {
		if err := os.MkdirAll(filepath.Join("/run", d), 0o700); err != nil {
			return err
		}
	}
	for name, text := range o.Files {
		if err := os.WriteFile(filepath.Join("/run", name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for name, f := range binds {
		at := filepath.Join("/run", name)
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			return err
		}
		if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), at, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("show it %s as %s: %w", f.Name(), at, err)
		}
	}
	return nil
}
