// Package transport starts agents and connects to their stdio, wherever they run.
package transport

import (
	"context"
	"io"
	"time"
)

// AgentCommand is the hidden subcommand that starts an agent.
const AgentCommand = "agent"

// PauseCommand is the hidden subcommand that a container's first process runs.
const PauseCommand = "hold"

// Environment is a variable of the environment of agents. Without it the Go runtime interrupts a thread that stays in the same code for
// long, and it treats a raw system call as such: that costs 100 needless wake-ups a second at each idle endpoint.
const Environment = "GODEBUG=asyncpreemptoff=1"

// Launcher starts an agent in one sandbox.
type Launcher interface {
	// Launch starts the program with args, without the program's name.
	Launch(ctx context.Context, args ...string) (Conn, error)
}

// SlowLauncher is a Launcher whose agents may take longer for the handshake, because they run on an
// emulated CPU.
type SlowLauncher interface{ HandshakeTimeout() time.Duration }

// Conn is a started agent. Read reads its stdout, Write writes its stdin.
type Conn interface {
	io.ReadWriter
	// Close ends the agent by closing its stdin, and kills it if it has not exited when ctx ends.
	// It may be called again.
	Close(ctx context.Context) error
	// ExitReason returns how the agent exited and its last output on stderr, "" while it runs.
	ExitReason() string
}
