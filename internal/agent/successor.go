package agent

import (
	"context"
	"fmt"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/traffic"
)

// Successor is the second server of a trial whose agent was launched, and runs once its sandbox does.
type Successor struct {
	serves chan error // receives once that its port is open, or why it is not
	agent  *Client
	cancel context.CancelFunc
}

// LaunchSuccessor launches the agent of the server that takes the place of the first one, after ExpectSuccessor. It returns when the agent was launched.
// Whenever that runs, it opens its port at once. It serves until ctx ends, or End.
func (t *Trial) LaunchSuccessor(ctx context.Context, l transport.Launcher, run, place string, side traffic.Params) *Successor {
	ctx, cancel := context.WithCancel(ctx)
	s := &Successor{serves: make(chan error, 1), cancel: cancel}
	launched := make(chan struct{})
	go func() {
		defer close(s.serves)
		c, err := Start(ctx, announced{l, launched}, run, place)
		if s.agent = c; err == nil {
			err = t.Succeed(ctx, c, side)
		}
		s.serves <- err
	}()
	<-launched
	return s
}

// Await waits until the successor serves.
func (s *Successor) Await(ctx context.Context) error {
	select {
	case err := <-s.serves:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for the server that takes the place of another: %w", context.Cause(ctx))
	}
}

// End ends the agent of the successor. s may be nil.
func (s *Successor) End() error {
	if s == nil {
		return nil
	}
	s.cancel()
	for range s.serves { // until it is closed: then the agent is known
	}
	if s.agent == nil {
		return nil
	}
	return s.agent.Close()
}

// announced is a launcher that closes a channel when it has launched.
type announced struct {
	transport.Launcher
	launched chan<- struct{}
}

// Launch launches an agent.
func (a announced) Launch(ctx context.Context, args ...string) (transport.Conn, error) {
	defer close(a.launched)
	return a.Launcher.Launch(ctx, args...)
}

// HandshakeTimeout is that of the launcher.
func (a announced) HandshakeTimeout() time.Duration {
	if slow, ok := a.Launcher.(transport.SlowLauncher); ok {
		return slow.HandshakeTimeout()
	}
	return HandshakeTimeout()
}
