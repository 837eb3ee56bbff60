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

	"tare/internal/linuxnet"
)

// restartPoll is the time between two looks for a dockerd that is restarted.
const restartPoll = 20 * time.Millisecond

// errNotRestartable is returned by Restart of an engine that was started without Config.LiveRestore.
var errNotRestartable = errors.New("its containers would end with dockerd, because it runs without --live-restore")

// Restart makes the engine's first process end dockerd in order and start it again as it was started, as an update of its package does.
// AwaitRestart waits for the new one.
func (p *Engine) Restart() error {
	err := errNotRestartable
	if p.runc != "" {
		_, err = p.init.Write([]byte(restartLine + "\n"))
	}
	if err != nil {
		return fmt.Errorf("restart the engine on host %s: %w", p.host, err)
	}
	return nil
}

// AwaitRestart waits until another dockerd answers than the one that had a process id on this machine: it has then found its containers
// again and has written its rules.
func (p *Engine) AwaitRestart(ctx context.Context, old int) error {
	var last error
	err := p.init.WaitFor(ctx, func() (bool, error) {
		time.Sleep(restartPoll)
		pid, err := p.DaemonPID()
		if last = err; last == nil && pid != old {
			last = p.Ping(ctx)
			return last == nil, nil
		}
		return false, nil
	})
	switch {
	case err == nil:
		return nil
	case p.ExitReason() != "":
		err = errors.New(p.ExitReason())
	case last != nil:
		err = fmt.Errorf("%w (%w)", err, last)
	}
	return fmt.Errorf("wait for the restarted engine on host %s: %w", p.host, err)
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
