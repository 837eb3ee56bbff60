package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
)

// errNotRestartable is returned by Restart of an engine that was started without Config.LiveRestore and Config.Restarts.
var errNotRestartable = errors.New("it was not started to be restarted")

// Restart makes the engine's first process end dockerd in order and start it again as it was started, as an update of its package does.
// AwaitRestart waits for the new one.
func (p *Engine) Restart() error {
	err := errNotRestartable
	if p.restarts {
		_, err = p.init.Write([]byte(restartLine + "\n"))
	}
	if err != nil {
		return fmt.Errorf("restart the engine on host %s: %w", p.host, err)
	}
	return nil
}

// AwaitRestart waits until another dockerd answers than the one that had a process id on this machine: it has then found its containers
// again, or has started those that it starts by itself, and has written its rules. It asks when the engine's files change,
// and once a second: to ask more often would take CPU time from what is measured meanwhile.
func (p *Engine) AwaitRestart(ctx context.Context, old int) error {
	err := p.awaitRestart(ctx, old)
	switch {
	case err == nil:
		return nil
	case p.ExitReason() != "":
		err = errors.New(p.ExitReason())
	}
	return fmt.Errorf("wait for the restarted engine on host %s: %w", p.host, err)
}

// errEngineEnded is the cause of the end of a wait for an engine that has ended.
var errEngineEnded = errors.New("it ended")

func (p *Engine) awaitRestart(ctx context.Context, old int) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-p.init.Done():
			end(errEngineEnded)
		case <-ctx.Done():
		}
	}()
	if err := awaitExit(ctx, old); err != nil {
		return err
	}
	changes, err := watchDirectory(p.dir)
	if err != nil {
		return err
	}
	defer changes.Close()
	for {
		// dockerd answers what was asked at its socket as soon as it serves; before it has a socket, it cannot be asked.
		last := p.Ping(ctx)
		if last == nil {
			pid, err := p.DaemonPID()
			if err == nil && pid == old {
				err = fmt.Errorf("process %d of it has ended and answers", old)
			}
			return err
		}
		if ctx.Err() == nil {
			err = changes.await(ctx)
		}
		switch cause := context.Cause(ctx); {
		case cause != nil:
			return fmt.Errorf("%w (%w)", cause, last)
		case err != nil:
			return errors.Join(err, last)
		}
	}
}

// awaitExit waits until a process has ended, which need not be a child.
func awaitExit(ctx context.Context, pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find process %d: %w", pid, err)
	}
	return awaitReadable(ctx, os.NewFile(uintptr(fd), "pidfd"), func(fd int) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // a file descriptor
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	})
}

// awaitReadable waits until a non-blocking file satisfies ready, which is tried now and whenever the kernel reports that it can be read, and closes it.
func awaitReadable(ctx context.Context, f *os.File, ready func(fd int) bool) error {
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := f.SyscallConn()
	if err == nil {
		err = raw.Read(func(fd uintptr) bool { return ready(int(fd)) }) //nolint:gosec // a file descriptor
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return err
}

// directoryChanges reports changes of the files of a directory.
type directoryChanges struct{ *os.File }

// watchDirectory begins to watch for files that are made, moved to a directory, or whose owner or mode is set, as a server does with its socket when it
// listens there.
func watchDirectory(dir string) (directoryChanges, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return directoryChanges{}, fmt.Errorf("watch %s: %w", dir, err)
	}
	f := os.NewFile(uintptr(fd), "inotify") //nolint:gosec // a file descriptor
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ATTRIB); err != nil {
		return directoryChanges{}, errors.Join(fmt.Errorf("watch %s: %w", dir, err), f.Close())
	}
	return directoryChanges{f}, nil
}

// noChange is the longest wait for a change: a server may fail to answer after its last one, as where it is slow.
const noChange = time.Second

// await waits until there was a change since the last one, or for noChange.
func (d directoryChanges) await(ctx context.Context) error {
	if err := d.SetReadDeadline(time.Now().Add(noChange)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = d.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	_, err := d.Read(make([]byte, 4<<10))
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

// DaemonPID returns the process id of dockerd on this machine.
func (p *Engine) DaemonPID() (int, error) {
	inside, err := p.pidInside()
	if err != nil {
		return 0, err
	}
	children, err := linuxnet.Children(p.init.PID())
	if err != nil {
		return 0, err
	}
	for _, pid := range children {
		if is, err := innerPID(pid); err == nil && is == inside {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("find the dockerd of host %s: process %d of its PID namespace has ended", p.host, inside)
}

// pidInside returns the process id of dockerd in its own PID namespace.
func (p *Engine) pidInside() (int, error) {
	text, err := os.ReadFile(filepath.Join(p.dir, pidFile))
	if err != nil {
		return 0, fmt.Errorf("find which dockerd runs: %w", err)
	}
	said := strings.TrimSpace(string(text))
	pid, err := strconv.Atoi(said)
	if err != nil {
		return 0, fmt.Errorf("find which dockerd runs: %s has %q", pidFile, said)
	}
	return pid, nil
}

// innerPID returns the id of a process in the innermost PID namespace that it is in.
func innerPID(pid int) (int, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(ids)
			return strconv.Atoi(fields[len(fields)-1])
		}
	}
	return 0, errors.New("the kernel does not report NSpid")
}
