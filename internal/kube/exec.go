package kube

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/process"
	"tare/internal/timelimit"
)

// handshakeTimeout is how long an agent may take for its handshake: the API server, the kubelet
// and the container runtime each pass the request on.
func handshakeTimeout() time.Duration { return timelimit.Scaled(20 * time.Second) }

// killTimeout bounds how long a killed agent may take to exit.
func killTimeout() time.Duration { return timelimit.Scaled(3 * time.Second) }

// HandshakeTimeout bounds the wait for an agent's handshake.
func (p *Pod) HandshakeTimeout() time.Duration { return handshakeTimeout() }

// Launch starts this program with args as another process of the pod. It runs until Close, or
// until the pod ends; ctx bounds only the start. An agent has begun its handshake when Launch
// returns.
func (p *Pod) Launch(ctx context.Context, args ...string) (transport.Conn, error) {
	within := handshakeTimeout()
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("the handshake timed out after %s", within))
	defer cancel()
	for {
		token := agent.TokenVariable + "=" + rand.Text()
		x := p.start(append(append([]string{p.program}, args...), token), nil, token)
		if args[0] != transport.AgentCommand {
			return x, nil
		}
		cut, err := x.cutAtOnce(ctx)
		if err != nil {
			return nil, errors.Join(err, x.Close(ctx))
		}
		if !cut || p.ExitReason(ctx) != "" {
			return x, nil
		}
		// As by a kubelet that has just started and does not know its pods yet.
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return x, nil // its exit reason has how the stream ended
		}
	}
}

// cutAtOnce waits for the first output of an agent. It reports whether the stream ended before
// that, although no exit of the process is known.
func (x *execution) cutAtOnce(ctx context.Context) (bool, error) {
	first := make(chan error, 1)
	go func() {
		_, err := x.read.Peek(1)
		first <- err
	}()
	select {
	case err := <-first:
		if err == nil {
			return false, nil
		}
		<-x.ended
		return x.code == 0, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// execution is a process that was started in a pod, with its stdio.
type execution struct {
	pod    *Pod
	token  string // by which it can be killed
	in     *io.PipeWriter
	out    *io.PipeReader
	read   *bufio.Reader // of out
	words  process.Tail
	cancel context.CancelFunc
	ended  chan struct{} // closed when reason is set
	reason string
	code   int // its exit code, 0 if it is unknown
	// closing means that the process is to end.
	closing atomic.Bool
	failed  error
}

// start starts a command in the pod. Its input is stdin, or what is written to the execution. With
// a token it can be killed.
func (p *Pod) start(command []string, stdin io.Reader, token string) *execution {
	stream := p.stream(command)
	ctx, cancel := context.WithCancel(context.Background())
	x := &execution{pod: p, token: token, cancel: cancel, ended: make(chan struct{})}
	var in *io.PipeReader
	var out *io.PipeWriter
	in, x.in = io.Pipe()
	x.out, out = io.Pipe()
	x.read = bufio.NewReader(x.out)
	if stdin == nil {
		stdin = in
	}
	go func() {
		err := p.untilReached(ctx, func() error {
			return stream.run(ctx, stdin, out, &x.words)
		})
		in.CloseWithError(io.ErrClosedPipe)
		out.Close()
		x.failed, x.reason = err, x.exitReason(err)
		close(x.ended)
		cancel()
	}()
	return x
}

// untilReached calls stream again while the API server or the node's kubelet cannot be reached or
// does not yet know the pod, as when it restarts. Nothing has passed the stream then.
func (p *Pod) untilReached(ctx context.Context, stream func() error) error {
	for began := time.Now(); ; {
		err := stream()
		if !isUnreached(err) || time.Since(began) > handshakeTimeout() || p.ExitReason(ctx) != "" {
			return err
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return err
		}
	}
}

func (x *execution) Read(b []byte) (int, error)  { return x.read.Read(b) }
func (x *execution) Write(b []byte) (int, error) { return x.in.Write(b) }

// Close closes the process's stdin, and kills the process if it still runs when ctx ends.
func (x *execution) Close(ctx context.Context) error {
	x.closing.Store(true)
	x.in.Close()
	// Otherwise unread output would keep the stream from reaching its end.
	defer x.out.Close()
	select {
	case <-x.ended:
		return nil
	case <-ctx.Done():
	}
	x.out.Close()
	err := x.kill(context.WithoutCancel(ctx))
	if x.endsWithin(killTimeout()) {
		return nil
	}
	x.cancel()
	x.endsWithin(killTimeout()) // a silent API server does not even end the stream
	return errors.Join(fmt.Errorf("end the agent in pod %s: it still runs after %s", x.pod.Name, killTimeout()), err)
}

// endsWithin waits for the end of the process. It reports whether that came in time.
func (x *execution) endsWithin(limit time.Duration) bool {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	select {
	case <-x.ended:
		return true
	case <-timeout.C:
		return false
	}
}

// kill kills the process from within its pod.
func (x *execution) kill(ctx context.Context) error {
	if x.token == "" {
		return nil
	}
	_, token, _ := strings.Cut(x.token, "=")
	ctx, cancel := context.WithTimeout(ctx, killTimeout())
	defer cancel()
	_, err := x.pod.Execute(ctx, nil, append([]string{x.pod.program}, agent.KillAgentArguments(token)...)...)
	return err
}

// ExitReason returns how the process exited, "" while it runs.
func (x *execution) ExitReason() string {
	select {
	case <-x.ended:
		return x.reason
	default:
		return ""
	}
}

// exitReason returns how the process exited from how its stream did.
func (x *execution) exitReason(err error) string {
	var exit exitError
	var reason string
	switch {
	case err == nil && (x.token == "" || x.closing.Load()):
		reason = "exit status 0"
	case err == nil:
		// A stream that was closed without a status. An agent only exits by itself when its stdin
		// ends.
		reason = x.streamEnded("no exit status was sent")
	case errors.As(err, &exit):
		x.code = int(exit)
		reason = fmt.Sprintf("exit status %d", exit)
		if exit == killed {
			reason = "killed by a signal"
			if x.pod.Limit.Memory > 0 {
				reason += fmt.Sprintf(" (out of memory? its limit is %s)", x.pod.Limit.Memory)
			}
		}
	default:
		reason = x.streamEnded(sentence(err.Error()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), explainTimeout())
	defer cancel()
	if err != nil || !x.closing.Load() {
		if why := x.pod.ExitReason(ctx); why != "" {
			reason = why
		}
	}
	if words := strings.TrimSpace(x.words.String()); words != "" {
		reason += ": " + words
	}
	return reason
}

// streamEnded describes the end of a stream that is not that of the process.
func (x *execution) streamEnded(why string) string {
	return fmt.Sprintf("its exec stream ended: %s; the API server, the kubelet of node %s or a proxy between has closed it", why, x.pod.Node)
}

// killed is the exit code after SIGKILL.
const killed = 137

// mostOutput bounds the output of Execute.
const mostOutput = 64 << 10

// Execute runs a command in the pod, with stdin if that is not nil, and returns its stdout. It is
// an error if the command fails, or writes more than 64 KiB.
func (p *Pod) Execute(ctx context.Context, stdin io.Reader, command ...string) (string, error) {
	if stdin == nil {
		stdin = bytes.NewReader(nil)
	}
	x := p.start(command, stdin, "")
	stop := context.AfterFunc(ctx, x.cancel)
	defer stop()
	var output bytes.Buffer
	var wg sync.WaitGroup
	var copied error
	var n int64
	wg.Go(func() {
		n, copied = io.Copy(&output, io.LimitReader(x.out, mostOutput+1))
		x.out.Close()
	})
	select {
	case <-x.ended:
		wg.Wait()
	case <-ctx.Done():
		x.endsWithin(killTimeout())
		x.out.Close()
		wg.Wait()
	}
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("run %s in pod %s: %w", command[0], p.Name, context.Cause(ctx))
	case x.failed != nil && x.code == 0:
		return "", p.cluster.fail(x.failed, "run %s in pod %s", command[0], p.Name)
	case x.failed != nil:
		return "", fmt.Errorf("run %s in pod %s: %s", command[0], p.Name, x.reason)
	case copied != nil || n > mostOutput:
		return "", fmt.Errorf("run %s in pod %s: it wrote more than %d bytes", command[0], p.Name, mostOutput)
	}
	return output.String(), nil
}
