//go:build linux

package faults

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// fault is a kind of thing that goes wrong.
type fault struct {
	name   string
	groups []string // those that can have it; nil: all
	// prepare is called before the start and the snapshot, for what surrounds the run.
	prepare func(*tested) error
	// inject makes it go wrong. It may wait for what it needs, and returns errTooLate if the
	// run ended before.
	inject func(*tested) error
	end    end
	// waits: the run waits until its time limits have passed, so that those are scaled by 3, not by what tests have (10).
	waits bool
}

// end is how a run may end that a fault has met.
type end int

const (
	// byItself: the run goes on, with failures or without, or gives up and says why. Its exit
	// code agrees with what it wrote, and nothing is left.
	byItself end = iota
	// undisturbed: the run does not notice.
	undisturbed
	// interrupted: it ends in order, with exit code 130, and nothing is left.
	interrupted
	// killed: it cannot do anything any more, and gc removes what is left.
	killed
)

func (e end) String() string {
	return [...]string{"goes on, or says why not", "does not notice", "ends in order", "dies"}[e]
}

// errTooLate means that the run ended before the fault could meet it.
var errTooLate = errors.New("the run ended before")

func kinds() []fault {
	return []fault{
		{name: "controller-kill", inject: signal(syscall.SIGKILL), end: killed},
		{name: "controller-term", inject: signal(syscall.SIGTERM), end: interrupted},
		{name: "controller-int", inject: signal(syscall.SIGINT), end: interrupted},
		{name: "controller-hup", inject: signal(syscall.SIGHUP), end: interrupted},
		{name: "controller-quit", inject: signal(syscall.SIGQUIT), end: interrupted},
		{name: "controller-stop", inject: stopController, end: undisturbed},
		{name: "terminal-closed", groups: []string{"netns", "tunnel", "rootless", "docker"}, prepare: inTerminal, inject: closeTerminal, end: interrupted},
		{name: "agent-kill", inject: killOne(isAgent)},
		{name: "agent-stop", inject: stopOne(isAgent), waits: true},
		{name: "agent-pause", inject: pauseOne(isAgent, 200*time.Millisecond, 3*time.Second)},
		{name: "agent-slow", inject: slowDown(isAgent)},
		{name: "helper-kill", groups: []string{"tunnel", "rootless", "docker"}, inject: killOne(isHelper)},
		{name: "dockerd-kill", groups: []string{"docker"}, inject: killOne(named("dockerd"))},
		{name: "container-kill", groups: []string{"docker"}, inject: killOne(isContainer)},
		{name: "container-oom", groups: []string{"docker"}, inject: exhaustContainer},
		{name: "link-removed", groups: []string{"netns", "tunnel", "rootless", "docker"}, inject: onLink("link", "del", "dev"), waits: true},
		{name: "link-down", groups: []string{"netns", "tunnel", "rootless", "docker"}, inject: onLink("link", "set", "down", "dev"), waits: true},
		{name: "link-down-up", inject: linkDownUp},
		{name: "mtu-changed", inject: changeMTU},
		{name: "rules-removed", groups: []string{"netns", "docker"}, inject: removeRules, waits: true},
		{name: "disk-full", groups: []string{"netns", "tunnel", "rootless", "docker"}, prepare: smallDisk, inject: fillDisk},
		{name: "read-only", groups: []string{"netns", "tunnel", "rootless", "docker"}, prepare: ownDisk, inject: breakDisk},
		{name: "clock-stepped", inject: stepClock, end: interrupted},
		{name: "files-limited", inject: limitFiles},
		{name: "processes-limited", groups: []string{"netns", "tunnel", "rootless", "docker"}, inject: limitProcesses, end: killed},
		{name: "port-stolen", groups: []string{"netns", "tunnel", "rootless", "docker"}, inject: stealPort},
		{name: "gc-beside", prepare: usersFiles, inject: collectBeside, end: undisturbed},
		{name: "guest-kill", groups: []string{"vm"}, inject: killOne(named("qemu-system-x86_64"))},
		{name: "guest-stop", groups: []string{"vm"}, inject: pauseOne(named("qemu-system-x86_64"), time.Second, 5*time.Second)},
	}
}

// meets reports whether the fault applies to a group of modes.
func (f fault) meets(g group) bool {
	for _, name := range f.groups {
		if name == g.name {
			return true
		}
	}
	return f.groups == nil
}

func (f fault) String() string { return fmt.Sprintf("%s (the run %s)", f.name, f.end) }
