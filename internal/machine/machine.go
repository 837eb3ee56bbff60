package machine

import (
	"context"
	"os"
	"runtime"

	"tare/internal/agent/transport"
)

// System is an operating system and a processor architecture, in Go's names.
type System struct{ OS, Arch string }

func (s System) String() string { return s.OS + "/" + s.Arch }

// here returns the system of this machine.
func here() System { return System{runtime.GOOS, runtime.GOARCH} }

// Machine is a machine on which this program can be started.
type Machine struct {
	Name    string // for messages: a or b unless the study names it
	Address Address
	System  System
	// User starts this program with the rights of the user who is logged in there.
	User transport.Launcher
	// Root starts this program with root's rights; nil if they cannot be had, for which
	// NoRoot is the reason.
	Root   transport.Launcher
	NoRoot string

	remote *remote // nil for this machine
}

// Close ends everything that was started on the machine, removes what was placed on it, and
// ends the connection. It may be called again.
func (m *Machine) Close(ctx context.Context) error {
	if m.remote == nil {
		return nil
	}
	return m.remote.close(ctx)
}

// Local returns this machine.
func Local(name string) *Machine {
	m := &Machine{Name: name, System: here(), User: transport.Local{}}
	if os.Geteuid() == 0 {
		m.Root = transport.Local{}
	} else {
		m.NoRoot = "tare does not run as root on this machine; start it with sudo"
	}
	return m
}
