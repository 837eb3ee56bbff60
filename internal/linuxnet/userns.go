//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// inside is the environment variable in which RunInUserNamespace passes its process id to its child.
const inside = "TARE_USER_NAMESPACE"

// Inside reports whether RunInUserNamespace started this process.
func Inside() bool { return os.Getenv(inside) == strconv.Itoa(os.Getppid()) }

// RealRoot reports whether this process is the machine's root rather than the
// root of a user namespace.
func RealRoot() bool {
	data, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && os.Geteuid() == 0 && strings.Join(strings.Fields(string(data)), " ") == "0 0 4294967295"
}

// Try creates a network namespace with a veth pair and removes both. It returns nil if labs
// can be created, else the reason why not.
func Try() error {
	ns, err := NewNS("tare-try")
	if err != nil {
		return err
	}
	defer ns.Close()
	return ns.Links().Veth(Device{Name: "try0"}, ns, Device{Name: "try1"})
}

// RunInUserNamespace runs a command, which must not have been started, as root of a new user namespace, forwards
// signals to it and returns its exit code. It lets an ordinary user create labs without further privileges. The
// command is usually this program, as /proc/self/exe, which then calls EndWithParent. Its environment is cmd.Env, or
// this process's. cmd.SysProcAttr and cmd.ExtraFiles are replaced.
func RunInUserNamespace(cmd *exec.Cmd) (int, error) {
	cmd.Env = append(cmd.Environ(), inside+"="+strconv.Itoa(os.Getpid()))
	// The child has its own process group, so that this process forwards the terminal's
	// signals exactly once.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		Setpgid:     true,
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	// The child must not outlive this process, even if that is killed with SIGKILL: it
	// waits for the end of a pipe that only this process holds open.
	hold, held, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("enter a user namespace: %w", err)
	}
	defer held.Close()
	cmd.ExtraFiles = []*os.File{hold}
	err = cmd.Start()
	hold.Close()
	if err != nil {
		return 0, fmt.Errorf("enter a user namespace: %w", err)
	}
	go func() {
		for s := range signals {
			// It may have exited already, and then the signal is not needed.
			_ = cmd.Process.Signal(s)
		}
	}()
	err = cmd.Wait()
	signal.Stop(signals)
	close(signals)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("run in a user namespace: %w", err)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// holdFD is the file descriptor of that pipe in the child.
const holdFD = 3

// EndWithParent ends this process when the process that called RunInUserNamespace has exited. It does
// nothing in other processes.
func EndWithParent() {
	if !Inside() {
		return
	}
	hold := os.NewFile(holdFD, "parent")
	syscall.CloseOnExec(holdFD)
	go func() {
		_, _ = hold.Read(make([]byte, 1))
		os.Exit(1)
	}()
}
