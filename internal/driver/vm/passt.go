//go:build linux

package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/transport"
	"tare/internal/guest"
	"tare/internal/linuxnet"
)

// helper is a process that passes a guest's frames on.
type helper struct {
	name  string
	cmd   *exec.Cmd
	words transport.Tail
	ended chan struct{}
}

// findPasst finds the program.
func findPasst() (string, error) {
	path, err := exec.LookPath("passt")
	if errors.Is(err, exec.ErrNotFound) {
		return "", &guest.Lacking{Reason: "passt is not installed (Debian: passt)"}
	}
	return path, err
}

// startHelper starts a program on a host with one end of a pair of sockets as its file 3.
// The other end is the caller's.
func startHelper(name, program string, on *linuxnet.NS, args ...string) (*helper, *os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", name, err)
	}
	own, theirs := os.NewFile(uintptr(pair[0]), name), os.NewFile(uintptr(pair[1]), name)
	defer theirs.Close()
	h := &helper{name: name, ended: make(chan struct{})}
	// No CommandContext: it outlives the context of its start.
	h.cmd = exec.Command(program, args...) //nolint:noctx // see above
	h.cmd.ExtraFiles, h.cmd.Stderr = []*os.File{theirs}, &h.words
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // out of the terminal's Ctrl-C
	h.cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + os.TempDir()}
	if err := on.StartTied(h.cmd, h.ended); err != nil {
		own.Close()
		return nil, nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = h.cmd.Wait() // the state that it leaves behind tells
		close(h.ended)
	}()
	return h, own, nil
}

func (h *helper) pid() int { return h.cmd.Process.Pid }

// listens waits until the helper listens at a port of its host.
func (h *helper) listens(ctx context.Context, on *linuxnet.NS, number uint16) error {
	for {
		pids, err := on.Listeners(number)
		if err != nil {
			return err
		}
		if len(pids) > 0 {
			return nil
		}
		select {
		case <-h.ended:
			return fmt.Errorf("%s ended (%s): %s", h.name, h.cmd.ProcessState, lastOf(h.words.String()))
		case <-ctx.Done():
			return fmt.Errorf("%s does not listen at port %d: %w", h.name, number, context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// endWithin bounds the wait for the end of a killed helper.
const endWithin = 3 * time.Second

func (h *helper) close() error {
	if err := h.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", h.name, err)
	}
	select {
	case <-h.ended:
		return nil
	case <-time.After(endWithin):
		return fmt.Errorf("end %s: process %d was killed and has not ended within %s", h.name, h.pid(), endWithin)
	}
}
