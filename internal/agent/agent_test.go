package agent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/agent"
	"tare/internal/agent/transport"
	"tare/internal/agent/wire"
	"tare/internal/program/agentfile"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/traffic"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == agent.Command {
		if err := agent.Serve(context.Background(), os.Stdin, os.Stdout, "test"); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == agent.PauseCommand {
		if err := agent.PauseMain(os.Args[2:]); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	nstest.Alone()
	goleak.VerifyTestMain(m)
}

func begin(t *testing.T) *agent.Client {
	t.Helper()
	c := must.Get(agent.Start(t.Context(), transport.Local{}, "00000000", "here"))(t)
	t.Cleanup(func() { must.Do(t, c.Close()) })
	return c
}

func params(kind string) traffic.Params {
	return traffic.Params{
		Workload: study.Workload{Kind: kind, Streams: 2, WriteSize: 1000, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer()},
		Address:  "127.0.0.1:0", Token: "0123456789abcdef", CPU: -1, Warmup: 20 * time.Millisecond, Duration: 200 * time.Millisecond,
	}
}

func TestTrial(t *testing.T) {
	t.Parallel()
	client, server := begin(t), begin(t)
	must.True(t, client.Hello.Agent == wire.Version && client.Hello.Build != "" && client.Hello.PID != server.Hello.PID, "hellos %+v and %+v", client.Hello, server.Hello)
	for _, kind := range []string{"tcp_stream", "tcp_rr", "tcp_stream"} {
		sent, got := must.Get2(must.Get(agent.Begin(t.Context(), client, server, params(kind), params(kind)))(t).Run(t.Context()))(t)
		must.True(t, sent.Sent != 0 && sent.Sent == got.Received, "%s: %d bytes sent, %d received", kind, sent.Sent, got.Received)
	}
}

// An endpoint that may not have the trial's scheduling tells that before the trial begins.
func TestSchedulingRefused(t *testing.T) {
	t.Parallel()
	p := params("tcp_rr")
	p.Wait, p.Scheduling = study.Spin, study.FIFOScheduling
	c := begin(t)
	must.Fail(t, must.Err(c.Listen(t.Context(), p)), "wait spin with scheduling fifo")
	must.Fail(t, must.Err(c.Dial(t.Context(), p)), "wait spin with scheduling fifo")
}

// long makes a trial whose limit is longer than any test.
func long(p traffic.Params) traffic.Params {
	p.Limit = 10 * time.Minute
	return p
}

// If one endpoint of a trial fails, the other is cancelled, and the error is the one that came
// first.
func TestOneEndpointFails(t *testing.T) {
	t.Parallel()
	client, server := begin(t), begin(t)
	stranger := long(params("tcp_rr"))
	stranger.Token = "fedcba9876543210"
	trial := must.Get(agent.Begin(t.Context(), client, server, stranger, long(params("tcp_rr"))))(t)
	if _, _, err := trial.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "wait for the server") {
		t.Errorf("a client with a wrong token: %v", err)
	}
	waiting := long(params("tcp_stream"))
	waiting.Streams = 3 // and two came
	trial = must.Get(agent.Begin(t.Context(), client, server, long(params("tcp_stream")), waiting))(t)
	time.AfterFunc(200*time.Millisecond, func() { _ = server.Abort(t.Context()) })
	if _, _, err := trial.Run(t.Context()); err == nil {
		t.Error("a cancelled server returned no error")
	}
	// Both agents can run the next trial.
	trial = must.Get(agent.Begin(t.Context(), client, server, params("tcp_rr"), params("tcp_rr")))(t)
	if _, _, err := trial.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// If an agent is killed, its exit is reported, and not the error that follows at the other
// endpoint.
func TestOneAgentKilled(t *testing.T) {
	t.Parallel()
	for _, dies := range []string{"client", "server"} {
		client, server := begin(t), begin(t)
		p := params("tcp_stream")
		p.Duration = 5 * time.Minute
		trial := must.Get(agent.Begin(t.Context(), client, server, p, p))(t)
		pid := map[string]int{"client": client.Hello.PID, "server": server.Hello.PID}[dies]
		time.AfterFunc(300*time.Millisecond, func() {
			p, err := os.FindProcess(pid)
			if err == nil {
				err = p.Kill()
			}
			must.True(t, err == nil, "%v", err)
		})
		if _, _, err := trial.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("the %s was killed: %v", dies, err)
		}
	}
}

// In slices, the client's report ends the trial; releasing a trial ends both endpoints.
func TestTrialInSlices(t *testing.T) {
	t.Parallel()
	client, server := begin(t), begin(t)
	p := long(params("tcp_rr"))
	p.Slice, p.Rounds = 50*time.Millisecond, 2
	for _, released := range []bool{false, true} {
		trial, err := agent.Begin(t.Context(), client, server, p, p)
		if err == nil {
			_, err = trial.Open(t.Context())
		}
		for range p.Rounds {
			if err == nil {
				_, err = trial.Slice(t.Context(), p.Slice)
			}
		}
		must.Do(t, err)
		if released {
			if err := trial.Release(t.Context()); err != nil {
				t.Errorf("released: %v", err)
			}
			continue
		}
		c, s, err := trial.Close(t.Context())
		must.True(t, err == nil && c.Sent != 0 && c.Sent == s.Received, "client sent %d, server received %d: %v", c.Sent, s.Received, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := begin(t)
	for _, tt := range map[string]struct {
		call func() error
		want string
	}{
		"unknown workload": {func() error { _, err := c.Listen(t.Context(), params("tcp_nothing")); return err }, "unknown workload"},
		"bad address": {func() error {
			p := params("tcp_rr")
			p.Address = "nowhere"
			_, err := c.Dial(t.Context(), p)
			return err
		}, "here: connect to"},
		"no listener": {func() error {
			p := params("tcp_rr")
			p.Address = "127.0.0.1:1"
			_, err := c.Dial(t.Context(), p)
			return err
		}, "connection refused"},
		"report of nothing": {func() error { _, err := c.Report(t.Context()); return err }, "no trial is being served"},
		"unknown congestion": {func() error {
			p := params("tcp_rr")
			p.Congestion = "nothing"
			_, err := c.Listen(t.Context(), p)
			return err
		}, "set congestion control nothing"},
	} {
		must.Fail(t, tt.call(), tt.want)
	}
}

// A server whose client never connects replies at once when its trial is cancelled.
func TestAbort(t *testing.T) {
	t.Parallel()
	c := begin(t)
	must.Get(c.Listen(t.Context(), params("tcp_rr")))(t)
	must.Do(t, c.Abort(t.Context()))
	must.Fail(t, must.Err(c.Report(t.Context())), "cancelled the trial")
}

// Every wait ends with its context.
func TestDeadline(t *testing.T) {
	t.Parallel()
	c := begin(t)
	must.Get(c.Listen(t.Context(), params("tcp_rr")))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Report(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// An agent that reads nothing blocks no other wait, and Err still answers.
func TestAgentThatDoesNotRead(t *testing.T) {
	t.Parallel()
	says, tells := io.Pipe()
	reads, writes := io.Pipe()
	defer func() { tells.Close(); reads.Close() }() // as the exit of its process does
	go func() { _, _ = io.WriteString(tells, `{"tare_agent":8,"id":"`+agentfile.ID()+`"}`+"\n") }()
	c := must.Get(agent.Start(t.Context(), fake{says, writes, "killed"}, "00000000", "there"))(t)
	for range 2 { // the first is being written, the second waits for it
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := c.Read(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "there did not read read") {
			t.Errorf("got %v", err)
		}
		if err := c.Err(); err != nil {
			t.Errorf("it runs, but Err returned %v", err)
		}
	}
}

// fake is an agent with a fixed output and exit reason.
type fake struct {
	io.Reader
	io.Writer
	fate string
}

func (f fake) Close(context.Context) error { return nil }
func (f fake) ExitReason() string          { return f.fate }
func (f fake) Launch(context.Context, ...string) (transport.Conn, error) {
	return f, nil
}

func TestHandshakeFails(t *testing.T) {
	t.Parallel()
	noBuild := "start agent in there: the id of its build is none, as after a go build without make, and that of this program is " + agentfile.ID()
	if agentfile.ID() == "" {
		noBuild = "" // two that were built without make are the same
	}
	for name, tt := range map[string]struct{ says, want string }{
		"another version": {`{"tare_agent":99}` + "\n", "it uses protocol 99, this program uses 8"},
		"another build":   {`{"tare_agent":8,"id":"ffff\u001b"}` + "\n", "start agent in there: the id of its build is ffff"},
		"no build":        {`{"tare_agent":8}` + "\n", noBuild},
		"no handshake":    {"bash: tare: not found\n", "start agent in there: read message"},
		"nothing":         {"", "start agent in there: EOF (exit status 127: no such file)"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fake{strings.NewReader(tt.says), io.Discard, "exit status 127: no such file"}
			_, err := agent.Start(t.Context(), f, "00000000", "there")
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// The agent exits when its stdin ends, with or without a trial under way.
func TestEndsWithStdin(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{"idle": "", "serving": `{"id":1,"op":"listen","params":{"kind":"tcp_rr","address":"127.0.0.1:0","cpu":-1,"send_buffer":-1,"receive_buffer":-1,"duration":3600000000000}}` + "\n"} {
		var out bytes.Buffer
		if err := agent.Serve(t.Context(), strings.NewReader(in), &out, "test"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		must.True(t, strings.HasPrefix(out.String(), `{"tare_agent":8,`), "%s: said %q", name, out.String())
	}
	must.FailFor(t, "an invalid line was taken for a request", agent.Serve(t.Context(), strings.NewReader("garbage\n"), io.Discard, "test"))
}
