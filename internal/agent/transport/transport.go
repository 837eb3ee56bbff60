// Package transport is how the stdio of an agent is reached, wherever it runs.
package transport

import (
	"context"
	"io"
	"time"
)

// Launcher starts an agent in one sandbox.
type Launcher interface {
	// Launch starts the program with args behind its own name.
	Launch(ctx context.Context, args ...string) (Conn, error)
}

// SlowLauncher is a Launcher of agents that may take longer than others to say hello, because
// the CPU they run on is an emulated one.
type SlowLauncher interface{ HandshakeTimeout() time.Duration }

// Conn is a started agent: Read its stdout, Write its stdin.
type Conn interface {
	io.ReadWriter
	// Close ends the agent by closing its stdin, and by force if it has not
	// ended when ctx does. It may be called again.
	Close(ctx context.Context) error
	// ExitReason says how the agent ended and its last words, "" while it runs.
	ExitReason() string
}
