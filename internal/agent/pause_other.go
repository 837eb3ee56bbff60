//go:build !linux

package agent

import "errors"

// reapOrphans does nothing: no container starts with this program on this system.
func reapOrphans() (stop func()) { return func() {} }

// KillAgent always fails: agents in containers exist on Linux only.
func KillAgent(string) error {
	return errors.New("kill agent: containers of this program run on Linux only")
}
