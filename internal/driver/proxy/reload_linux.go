package proxy

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
)

// reloadPoll is the time between two looks for the new workers of a proxy.
const reloadPoll = 5 * time.Millisecond

// reloading is how a proxy replaces its workers when it is told to reload its configuration.
type reloading struct {
	signal unix.Signal // to its first process; 0: it cannot
	// replaced is called when the new workers listen, and ending after the trial, before the old ones must have ended; each may be nil.
	replaced, ending func(ctx context.Context) error
}

// events are the events of a path whose proxies all can reload their configuration.
func (p *placedPath) events() []driver.Event {
	if len(p.proxies) == 0 || slices.ContainsFunc(p.proxies, func(x placedProxy) bool { return x.reload.signal == 0 }) {
		return nil
	}
	return []driver.Event{{
		Name: proxyReload, Title: "each proxy reloads its configuration, which replaces its workers",
		State: func(context.Context) (driver.Counters, error) {
			out := driver.Counters{}
			for _, x := range p.proxies {
				pids, err := x.workerPIDs()
				if err != nil {
					return nil, err
				}
				for _, pid := range pids {
					out[x.workerCounter(pid)] = 1
				}
			}
			return out, nil
		},
		Do:       p.reload,
		Happened: p.reloaded,
	}}
}

// workerPIDs are the ids of the workers of a proxy, those that end included.
func (x placedProxy) workerPIDs() ([]int, error) {
	pid, err := x.proc.ProgramPID()
	if err != nil {
		return nil, err
	}
	return linuxnet.Descendants(pid)
}

func (x placedProxy) workerCounter(pid int) string {
	return pathspec.CounterName(x.At, x.name, "worker_"+strconv.Itoa(pid))
}

// reload tells each proxy to reload its configuration, and waits for its new workers. Undo waits until the old ones have ended, which they
// do with their last connection.
func (p *placedPath) reload(ctx context.Context) (undo func(context.Context) error, err error) {
	undo = func(ctx context.Context) error {
		for _, x := range p.proxies {
			if x.reload.ending != nil {
				if err := x.reload.ending(ctx); err != nil {
					return fmt.Errorf("end the workers of %s: %w", x.proc.Name, err)
				}
			}
			err := x.proc.WaitFor(ctx, endTimeout(), "end the workers that were replaced", func() error {
				_, err := x.programPIDs()
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	old := make([][]int, len(p.proxies))
	for i, x := range p.proxies {
		pid, err := x.proc.ProgramPID()
		if err != nil {
			return undo, err
		}
		if old[i], err = x.workerPIDs(); err != nil {
			return undo, err
		}
		if err := unix.Kill(pid, x.reload.signal); err != nil {
			return undo, fmt.Errorf("tell %s to reload: %w", x.proc.Name, err)
		}
	}
	for i, x := range p.proxies {
		for {
			listen, err := x.othersListen(old[i])
			if err != nil {
				return undo, err
			}
			if listen {
				break
			}
			select {
			case <-time.After(reloadPoll):
			case <-ctx.Done():
				return undo, fmt.Errorf("wait for the new workers of %s: %w", x.proc.Name, context.Cause(ctx))
			}
		}
		if x.reload.replaced != nil {
			if err := x.reload.replaced(ctx); err != nil {
				return undo, fmt.Errorf("find the new worker of %s: %w", x.proc.Name, err)
			}
		}
	}
	return undo, nil
}

// othersListen reports whether as many workers as a proxy starts listen that are not among the old ones.
func (x placedProxy) othersListen(old []int) (bool, error) {
	now, err := x.workerPIDs()
	if err != nil {
		return false, err
	}
	started := slices.DeleteFunc(now, func(pid int) bool { return slices.Contains(old, pid) })
	if len(started) < x.workers {
		return false, nil
	}
	listeners, err := x.ns.Sockets().Listeners(port(0))
	listen := slices.DeleteFunc(started, func(pid int) bool { return !slices.Contains(listeners, pid) })
	return len(listen) >= x.workers, err
}

// reloaded checks that each proxy has as many new workers as it starts.
func (p *placedPath) reloaded(before, after driver.Counters) error {
	for _, x := range p.proxies {
		started := 0
		prefix := strings.TrimSuffix(x.workerCounter(0), "0")
		for name := range after {
			if _, was := before[name]; !was && strings.HasPrefix(name, prefix) {
				started++
			}
		}
		if started < x.workers {
			return fmt.Errorf("%s has %d new workers, not %d", x.proc.Name, started, x.workers)
		}
	}
	return nil
}

// runTimes reads the CPU time of a proxy and of all its workers so far. That of one that has ended is as it was last read.
func (x placedProxy) runTimes(counter string) pathspec.CounterReader {
	last := map[int]uint64{}
	return func(_ context.Context, into driver.Counters) error {
		pids, err := x.workerPIDs()
		if err != nil {
			return err
		}
		first, err := x.proc.ProgramPID()
		if err != nil {
			return err
		}
		for _, pid := range append(pids, first) {
			if n, err := linuxnet.CPUTime(pid); err == nil { // else it has just ended
				last[pid] = n
			}
		}
		var sum uint64
		for _, n := range last {
			sum += n
		}
		into[counter] = sum
		return nil
	}
}
