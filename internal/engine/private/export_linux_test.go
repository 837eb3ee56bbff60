package private

import (
	"os"
	"path/filepath"

	"tare/internal/study"
)

// ExitReasonIn reads from the end of an engine's log how it exited.
func ExitReasonIn(text string) string { return exitReasonIn(text) }

// InitPID is the engine's first process, as seen from this process.
func (p *Engine) InitPID() int { return p.init.PID() }

// Log is the file to which the engine's daemon writes.
func (p *Engine) Log() string { return filepath.Join(p.dir, logName) }

// Cgroup is the name of the control group above all the engine's containers.
func (p *Engine) Cgroup() string { return p.cgroup }

// RootlessIn is RootlessOf on a machine on which only the programs of a directory are installed.
func RootlessIn(dir string, asked study.Engine, mtu int) (*Rootless, error) {
	return rootlessWith(func(program string) error {
		_, err := os.Stat(filepath.Join(dir, program))
		return err
	}, asked, mtu)
}

// MakeGroup makes a control group in a hierarchy.
func MakeGroup(hierarchy, name string) error { return makeGroup(hierarchy, name) }
