//go:build linux

package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/transport"
	"tare/internal/linuxnet"
	"tare/internal/process"
	"tare/internal/program/agentfile"
	"tare/internal/runid"
	"tare/internal/timelimit"
)

// Leftover is a resource of a run that is no longer alive.
type Leftover struct {
	Run   string
	What  string // namespace NAME, process PID or directory PATH, for messages
	Owner int    // the user who has it, see Foreign
	// Unmarked means that only its name is that of a run: it may be anybody's, and Remove leaves it.
	Unmarked bool
	pid      int    // of a process
	name     string // of a namespace
	path     string // of a directory
}

// Leftovers lists what dead runs have left on this machine: processes first, then named
// namespaces, then directories. Links, rules and addresses are inside the namespaces and are removed
// with them. What other users have is listed too, see Foreign.
func Leftovers() ([]Leftover, error) {
	alive, err := runid.List()
	if err != nil {
		return nil, err
	}
	found, led, err := findOrphans(alive)
	if err != nil {
		return nil, err
	}
	alive = append(alive, led...)
	names, err := linuxnet.Pinned(Prefix)
	if err != nil {
		return nil, err
	}
	owner := machineRoot()
	for _, name := range names {
		id, _, ok := strings.Cut(strings.TrimPrefix(name, Prefix), "-")
		if !ok || !runid.IsID(id) || alive.Hold(id, owner) {
			continue
		}
		found = append(found, Leftover{Run: id, What: "namespace " + name, Owner: owner, Unmarked: !Foreign(owner) && !linuxnet.HasMark(name, Prefix+id), name: name})
	}
	files, err := tempLeftovers(alive)
	return append(found, files...), err
}

// Alive lists the runs that are alive on this machine, including those of which only
// processes are visible because they were claimed in another network namespace.
func Alive() (runid.Claims, error) {
	alive, err := runid.List()
	if err != nil {
		return nil, err
	}
	_, led, err := findOrphans(alive)
	return append(alive, led...), err
}

// findOrphans finds agents and the processes of engines and modes of dead runs.
// They exit when their stdin is closed, so this covers only stopped or stuck ones. A
// process whose parent is still its controller belongs to a live run, even if that run's
// claim is invisible because it was made in another network namespace; led lists those
// runs. A command line can say anything: it counts only for its user.
func findOrphans(alive runid.Claims) (found []Leftover, led runid.Claims, err error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range dirs {
		id, ok := subcommandRun(dir)
		if !ok {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if pid == os.Getpid() {
			continue // the guard of a copy looks for what else of its run is left
		}
		owner, err := linuxnet.Owner(pid)
		if err != nil || alive.Hold(id, owner) {
			continue // it has exited, or is of a live run
		}
		if hasController(dir, owner) {
			led = append(led, runid.Claim{Run: id, User: owner})
			continue
		}
		found = append(found, Leftover{Run: id, What: fmt.Sprintf("process %d", pid), Owner: owner, pid: pid})
	}
	return found, led, nil
}

// hasController reports whether a process's parent runs the same program, or has an agent's program
// open that the process runs, for the same user or for root.
func hasController(dir string, owner int) bool {
	own, err := os.Stat(filepath.Join(dir, "exe"))
	if err != nil {
		return false
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return false
	}
	// The name in brackets may contain anything; the parent is the second field after the
	// last bracket (proc(5)).
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return false
	}
	pid, err := strconv.Atoi(fields[1])
	if err != nil {
		return false
	}
	above := filepath.Join("/proc", fields[1])
	parent, err := os.Stat(filepath.Join(above, "exe"))
	if err != nil || !os.SameFile(own, parent) && !agentfile.IsHeldBy(above, own) {
		return false
	}
	leader, err := linuxnet.Owner(pid)
	return err == nil && (leader == owner || leader == 0)
}

// subcommandRun returns the run's id from the command line of a process under which this program serves a run, such as tare agent --run ID:
// an agent, the init process of an engine, a tunnel. The first process of a container is none: it ends with its container.
func subcommandRun(dir string) (id string, ok bool) {
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return "", false // it has exited
	}
	args := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
	if id, ok := emulatorRun(args); ok {
		return id, true
	}
	if len(args) < 4 || filepath.Base(args[0]) != "tare" || args[1] == transport.PauseCommand || args[2] != "--run" || !runid.IsID(args[3]) {
		return "", false
	}
	return args[3], true
}

// Remove removes a leftover. A process has exited when Remove returns nil.
func (l Leftover) Remove() error {
	if l.path != "" {
		return l.removeTemp()
	}
	if l.pid == 0 {
		if !linuxnet.HasMark(l.name, Prefix+l.Run) {
			return nil
		}
		return linuxnet.Unpin(l.name)
	}
	// A pidfd makes sure that the signal reaches the process that was inspected, and not
	// one that reuses its id.
	fd, err := unix.PidfdOpen(l.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end %s: %w", l.What, err)
	}
	defer unix.Close(fd)
	if id, ok := subcommandRun(filepath.Join("/proc", strconv.Itoa(l.pid))); !ok || id != l.Run {
		return nil
	}
	if err := process.KillPidfd(context.Background(), fd, timelimit.Scaled(10*time.Second)); err != nil {
		return fmt.Errorf("end %s: %w", l.What, err)
	}
	return nil
}
