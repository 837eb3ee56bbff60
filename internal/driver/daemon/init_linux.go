package daemon

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/engine/private"
)

// initPrefix begins each line that the init process of a program writes.
const initPrefix = "tare " + Command + ": "

// Init is the init process of an installed program, in PID and mount namespaces that its
// parent created. args follow the subcommand's name: --run ID -- PROGRAM ARGS... . It reads
// its configuration from stdin, creates a private /run with the program's files, starts the
// program, reaps orphans, and returns how the program exited. It exits at once when stdin
// is closed. In both cases the kernel then kills all remaining processes of the namespace.
func Init(args []string, stdin io.Reader) error {
	return fmt.Errorf("%s%w", initPrefix, runInit(args, stdin))
}

func runInit(args []string, stdin io.Reader) error {
	if len(args) < 4 || args[0] != RunFlag || args[2] != "--" {
		return errors.New("this is an internal subcommand that tare starts for a mode's program")
	}
	if os.Getpid() != 1 {
		return fmt.Errorf("process id is %d; it must be 1 in its PID namespace", os.Getpid())
	}
	// The CPU time of this process is tare's and not the mode's, so it is named tare.
	if err := os.WriteFile("/proc/self/comm", []byte("tare"), 0); err != nil {
		return fmt.Errorf("set the process name: %w", err)
	}
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the configuration from stdin: %w", err)
	}
	var o initConfig
	if err := json.Unmarshal(line, &o); err != nil {
		return fmt.Errorf("read the configuration from stdin: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(0)
	}()
	if err := mountRun(o); err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	command := args[3:]
	attr := &os.ProcAttr{Env: slices.Concat(o.Env, environment()), Files: []*os.File{null, os.Stdout, os.Stderr}}
	if o.Groups != "" {
		attr.Sys = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWCGROUP}
	}
	program, err := os.StartProcess(command[0], command, attr)
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

// mountRun creates the program's private /run with its directories, files and binds.
func mountRun(o initConfig) error {
	binds := map[string]*os.File{}
	for name, path := range o.Binds { // while /run is still the machine's
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		binds[name] = f
	}
	isolate := PrivateRun
	if o.Groups != "" {
		isolate = func() error {
			if err := private.IsolateMounts(); err != nil {
				return err // what EnterGroups mounts could reach the machine
			}
			return private.EnterGroups(o.Groups)
		}
	}
	if err := isolate(); err != nil {
		return err
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
			return fmt.Errorf("bind-mount %s at %s: %w", f.Name(), at, err)
		}
	}
	return nil
}

// PrivateRun makes the mounts of this process's mount namespace private, and mounts an empty
// file system on /run, and on /var/run if that is a separate directory.
func PrivateRun() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=700"); err != nil {
		return fmt.Errorf("mount a private /run: %w", err)
	}
	if is, err := filepath.EvalSymlinks("/var/run"); err == nil && is != "/run" {
		if err := unix.Mount("/run", is, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount a private /var/run: %w", err)
		}
	}
	return nil
}
