package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	gorilla "github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
)

// execStream starts processes in a pod by the API's exec, with their stdio as streams. It connects as client-go does: with
// the user's credentials, certificates and proxy. The streams are written here, because package remotecommand of
// client-go brings all types of the API.
type execStream struct {
	config *rest.Config
	at     *url.URL // of the exec of a pod, with the command
}

// The protocols of the streams: the status of the process is JSON, and over WebSocket the end of stdin is a message.
const (
	protocolV5 = "v5.channel.k8s.io"
	protocolV4 = "v4.channel.k8s.io" // the same over SPDY
)

// The channels of a WebSocket: the first byte of each message. closeChannel is followed by the channel that has ended.
const (
	stdinChannel  = 0
	stdoutChannel = 1
	stderrChannel = 2
	statusChannel = 3
	closeChannel  = 255
)

const (
	pingInterval = 5 * time.Second
	pongTimeout  = 61 * time.Second // a few lost ones are no reason to give up
	writeTimeout = 60 * time.Second
	// maxStatus bounds the status of a process, which contains at most the text of an error.
	maxStatus = 64 << 10
)

// exitError is the exit status of a process, above 0.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("command terminated with exit code %d", int(e)) }

func (p *Pod) stream(command []string) execStream {
	query := url.Values{"container": {container}, "command": command, "stdin": {"true"}, "stdout": {"true"}, "stderr": {"true"}}
	r := p.cluster.rest.Get().AbsPath(in(core, p.Namespace, "pods", p.Name, "exec"))
	for name, values := range query {
		for _, v := range values {
			r = r.Param(name, v)
		}
	}
	return execStream{p.cluster.config, r.URL()}
}

// run starts the process and copies its stdio until it has exited, or ctx ends: over a WebSocket, or over SPDY if the API
// server or a proxy before it knows only that. The error is an exitError, or why the process was not started or its
// end is unknown. The end of a stream without a status is no error. run may return while stdin is still read.
func (s execStream) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	err := s.overWebSocket(ctx, stdin, stdout, stderr)
	if httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) {
		return s.overSPDY(ctx, stdin, stdout, stderr)
	}
	return err
}

// untilDone returns the error of copy, or that of ctx if it ends before.
func untilDone(ctx context.Context, copy func() error) error {
	done := make(chan error, 1)
	go func() { done <- copy() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s execStream) overWebSocket(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	transport, holder, err := websocket.RoundTripperFor(s.config)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.String(), nil)
	if err != nil {
		return err
	}
	conn, err := websocket.Negotiate(transport, holder, r, protocolV5)
	if err != nil {
		return err
	}
	defer conn.Close()
	return untilDone(ctx, func() error {
		ended := make(chan struct{})
		defer close(ended)
		go ping(conn, ended)
		go sendStdin(conn, stdin) // ends with conn
		return receive(conn, stdout, stderr)
	})
}

// ping asks for a sign of life, without which receive would take an idle connection for a lost one.
func ping(conn *gorilla.Conn, ended <-chan struct{}) {
	tick := time.NewTicker(pingInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = conn.WriteControl(gorilla.PingMessage, nil, time.Now().Add(writeTimeout)) // receive sees a lost connection
		case <-ended:
			return
		}
	}
}

// sendStdin sends the input and its end. It is the only one that writes messages.
func sendStdin(conn *gorilla.Conn, stdin io.Reader) {
	buffer := make([]byte, 32<<10)
	buffer[0] = stdinChannel
	for {
		n, err := stdin.Read(buffer[1:])
		if n > 0 && send(conn, buffer[:n+1]) != nil {
			return // receive sees why
		}
		if err != nil {
			_ = send(conn, []byte{closeChannel, stdinChannel})
			return
		}
	}
}

func send(conn *gorilla.Conn, message []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return conn.WriteMessage(gorilla.BinaryMessage, message)
}

// receive copies the output until the connection is closed, and returns the status of the process.
func receive(conn *gorilla.Conn, stdout, stderr io.Writer) error {
	alive := func(string) error { return conn.SetReadDeadline(time.Now().Add(pongTimeout)) }
	conn.SetPongHandler(alive)
	if err := alive(""); err != nil {
		return err
	}
	status := &bounded{left: maxStatus}
	to := map[byte]*sink{stdoutChannel: {w: stdout}, stderrChannel: {w: stderr}, statusChannel: {w: status}}
	for {
		kind, message, err := conn.NextReader()
		var closed *gorilla.CloseError
		switch {
		case errors.As(err, &closed) && closed.Code == gorilla.CloseNormalClosure:
			return statusOf(status.text)
		case err != nil:
			return fmt.Errorf("error reading from error stream: next reader: %w", err)
		case kind != gorilla.BinaryMessage:
			return fmt.Errorf("error reading from error stream: unexpected message type: %d", kind)
		}
		var channel [1]byte
		if _, err := io.ReadFull(message, channel[:]); err != nil {
			return fmt.Errorf("error reading from error stream: read stream id: %w", err)
		}
		into := to[channel[0]]
		if into == nil {
			into = &sink{w: io.Discard}
		}
		if _, err := io.Copy(into, message); err != nil {
			return fmt.Errorf("error reading from error stream: read message: %w", err)
		}
	}
}

// sink is a writer whose errors are ignored: what nobody reads any more must not keep the status back.
type sink struct {
	w      io.Writer
	failed bool
}

func (s *sink) Write(b []byte) (int, error) {
	if !s.failed {
		_, err := s.w.Write(b)
		s.failed = err != nil
	}
	return len(b), nil
}

// bounded keeps the first bytes that are written.
type bounded struct {
	text []byte
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.text, b.left = append(b.text, p[:n]...), b.left-n
	return len(p), nil
}

func (s execStream) overSPDY(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	transport, upgrader, err := spdy.RoundTripperFor(s.config)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.at.String(), nil)
	if err != nil {
		return err
	}
	conn, protocol, err := spdy.NegotiateStreaming(upgrader, &http.Client{Transport: transport}, r, protocolV5, protocolV4)
	if err != nil {
		return err
	}
	defer conn.Close()
	if protocol != protocolV5 && protocol != protocolV4 {
		return fmt.Errorf("the API server offers the protocol %q for exec, and tare knows %s and %s", shorten(protocol, longestError), protocolV5, protocolV4)
	}
	return untilDone(ctx, func() error { return copyStreams(conn, stdin, stdout, stderr) })
}

// copyStreams copies the stdio over a stream each, and returns the status of the process.
func copyStreams(conn httpstream.Connection, stdin io.Reader, stdout, stderr io.Writer) error {
	streams := map[string]httpstream.Stream{}
	for _, kind := range []string{"error", "stdin", "stdout", "stderr"} {
		stream, err := conn.CreateStream(http.Header{"Streamtype": {kind}})
		if err != nil {
			return err
		}
		streams[kind] = stream
	}
	end := sync.OnceFunc(func() { streams["stdin"].Close() })
	go func() {
		defer end()
		_, _ = io.Copy(streams["stdin"], stdin) // the status says what became of the process
	}()
	go func() {
		defer end()
		_, _ = io.Copy(io.Discard, streams["stdin"]) // until the other end closes it
	}()
	var copying sync.WaitGroup
	for kind, w := range map[string]io.Writer{"stdout": stdout, "stderr": stderr} {
		copying.Go(func() { _, _ = io.Copy(&sink{w: w}, streams[kind]) })
	}
	status := &bounded{left: maxStatus}
	_, err := io.Copy(status, streams["error"])
	copying.Wait()
	if err != nil {
		return fmt.Errorf("error reading from error stream: %w", err)
	}
	return statusOf(status.text)
}

// statusOf returns the error of a process whose status is a Status of the API in JSON: nil for success, and if there is
// none.
func statusOf(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	var status metav1.Status
	if err := json.Unmarshal(text, &status); err != nil {
		return fmt.Errorf("error stream protocol error: %w in %q", err, text)
	}
	switch {
	case status.Status == metav1.StatusSuccess:
		return nil
	case status.Status != metav1.StatusFailure:
		return errors.New("error stream protocol error: unknown error")
	case status.Reason != "NonZeroExitCode":
		return errors.New(status.Message)
	case status.Details != nil:
		for _, c := range status.Details.Causes {
			if c.Type != "ExitCode" {
				continue
			}
			code, err := strconv.ParseUint(c.Message, 10, 8)
			if err != nil || code == 0 {
				return fmt.Errorf("error stream protocol error: invalid exit code value %q", c.Message)
			}
			return exitError(code)
		}
	}
	return errors.New("error stream protocol error: no ExitCode cause given")
}
