//go:build linux

package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"tare/internal/guest"
	"tare/internal/linuxnet"
	"tare/internal/process"
)

// findPasst finds the program.
func findPasst() (string, error) {
	path, err := exec.LookPath("passt")
	if errors.Is(err, exec.ErrNotFound) {
		return "", &guest.UnavailableError{Reason: "passt is not installed (Debian: passt)"}
	}
	return path, err
}

// startHelper starts a program that forwards a guest's frames on a host, with one end of a
// socket pair as its file descriptor 3. The other end belongs to the caller.
func startHelper(name, program string, on *linuxnet.NS, args ...string) (*process.Process, *os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", name, err)
	}
	own, theirs := os.NewFile(uintptr(pair[0]), name), os.NewFile(uintptr(pair[1]), name)
	defer theirs.Close()
	p := process.New(name, program, args...)
	p.Cmd.ExtraFiles, p.Cmd.Env = []*os.File{theirs}, []string{"PATH=/usr/bin:/bin", "TMPDIR=" + os.TempDir()}
	if err := p.StartTied(on.Do); err != nil {
		own.Close()
		return nil, nil, err
	}
	return p, own, nil
}

// listens waits until a helper listens on a port of its host.
func listens(ctx context.Context, p *process.Process, on *linuxnet.NS, number uint16) error {
	err := p.WaitFor(ctx, func() (bool, error) {
		pids, err := on.Sockets().Listeners(number)
		return len(pids) > 0, err
	})
	switch {
	case errors.Is(err, process.ErrEnded):
		return fmt.Errorf("%s ended (%s): %s", p.Name, p.State(), p.LastLine())
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%s does not listen on port %d: %w", p.Name, number, err)
	}
	return err
}
