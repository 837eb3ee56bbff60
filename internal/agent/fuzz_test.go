package agent

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/agent/wire"
	"tare/internal/program/agentfile"
	"tare/internal/testkit/must"
)

// scripted is an agent whose output is known beforehand; it starts to write when it has read as
// many requests as it is to answer.
type scripted struct {
	io.Reader
	requests chan struct{}
}

func (s *scripted) Write(b []byte) (int, error) {
	select {
	case s.requests <- struct{}{}:
	default:
	}
	return len(b), nil
}
func (*scripted) Close(context.Context) error { return nil }
func (*scripted) ExitReason() string          { return "exit status 1" }

func (s *scripted) Launch(context.Context, ...string) (transport.Conn, error) { return s, nil }

// gated delivers a text after a number of requests.
type gated struct {
	*scripted
	text io.Reader
	left int
}

func (g *gated) Read(b []byte) (int, error) {
	for ; g.left > 0; g.left-- {
		<-g.requests
	}
	return g.text.Read(b)
}

// FuzzReplies checks that whatever an agent answers, which may run in a hostile container, each
// call ends with a result or an error on one line before its time limit.
func FuzzReplies(f *testing.F) {
	hello := `{"tare_agent":6,"build":"x","id":"` + agentfile.ID() + `","pid":1}` + "\n"
	f.Add(hello, `{"id":1,"report":{"sent":5,"window":{"seconds":1}}}`+"\n"+`{"id":2,"links":[{}],"from":"10.0.0.1"}`+"\n"+`{"id":3}`+"\n")
	f.Add(hello, `{"id":1,"error":"a\nb\u001b[31m"}`+"\n"+`{"id":2,"from":"x"}`+"\n"+`{"id":3,"reading":{"counters":null}}`+"\n")
	f.Add(hello, `{"id":1,"progress":{}}`+"\n"+`{"id":1,"report":null}`+"\n")
	f.Add(hello, `{"id":18446744073709551615}`+"\n"+`{"id":-1}`+"\n")
	f.Add(hello, `{"id":1,"report":{"window":{"rtt":"AAAA"}}}`+"\n")
	f.Add(hello, `{"id":1,"boot":"b","clock":1,"cpu":{"machine":[1,2,3,4],"cpus":[{"id":0,"ticks":[1,2,3,4]},{"id":0,"ticks":[1,1,1,1,1,1,1,1,1]}]}}`+"\n")
	f.Add(`{"tare_agent":3}`+"\n", "")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, hello, replies string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		conn := &scripted{requests: make(chan struct{}, 4)}
		conn.Reader = io.MultiReader(strings.NewReader(hello), &gated{conn, strings.NewReader(replies), 4})
		if !strings.HasSuffix(hello, "\n") {
			conn.Reader = strings.NewReader(hello) // it ends within the handshake
		}
		c, err := Start(ctx, conn, "0123abcd", "host")
		oneLine := func(err error) {
			must.True(t, err == nil || !strings.ContainsAny(err.Error(), "\n\x1b"), "the error %q is not on one line", err)
			must.True(t, !errors.Is(err, context.DeadlineExceeded), "%v", err)
		}
		if oneLine(err); err != nil {
			return
		}
		calls := make(chan error)
		for _, call := range []func() error{
			func() error { _, err := c.Report(ctx); return err },
			func() error { _, _, err := c.Links(ctx, netip.Addr{}); return err },
			func() error { _, err := c.Read(ctx); return err },
			func() error { _, _, err := c.CPU(ctx); return err },
		} {
			go func() { calls <- call() }()
		}
		for range 4 {
			oneLine(<-calls)
		}
		oneLine(c.Close())
	})
}

// FuzzServe checks that whatever lines a controller sends, an agent answers each with one line or
// ends; without a network: the requests that open or dial one are left out.
func FuzzServe(f *testing.F) {
	f.Add(`{"id":1,"op":"report"}` + "\n" + `{"id":2,"op":"abort"}` + "\n" + `{"id":3,"op":"slice","slice":-1}` + "\n")
	f.Add(`{"id":1,"op":"ended","report":{"datagrams":{}}}` + "\n")
	f.Add(`{"id":1,"op":"answered","knock":{"token":"x"}}` + "\n" + `{"id":1,"op":"read"}` + "\n")
	f.Add(`{"id":1,"op":"clock"}` + "\n" + `{"id":2,"op":"path_result","path":{"token":"x"}}` + "\n" + `{"id":3,"op":"path_result"}` + "\n")
	f.Add(`{"id":1,"op":"\u001b"}` + "\n" + "x\n")
	f.Fuzz(func(t *testing.T, sent string) {
		var in strings.Builder
		for line := range strings.Lines(sent) {
			var q wire.Request
			if wire.NewReader(strings.NewReader(line)).Read(&q) == nil {
				switch q.Op {
				case wire.OpListen, wire.OpDial, wire.OpProbeListen, wire.OpProbe, wire.OpLinks, wire.OpRead, wire.OpCPU,
					wire.OpMachine, wire.OpPathListen, wire.OpPathSend:
					continue
				}
			}
			in.WriteString(line)
		}
		var out strings.Builder
		err := Serve(t.Context(), strings.NewReader(in.String()), &out, "test")
		must.True(t, err == nil || !strings.Contains(err.Error(), "\n"), "the error %q is not on one line", err)
		r := wire.NewReader(strings.NewReader(out.String()))
		var hello wire.Hello
		if err := r.Read(&hello); err != nil || hello.Agent != wire.Version {
			t.Fatalf("the handshake is %q, %v", out.String(), err)
		}
		for n := 0; ; n++ {
			var reply wire.Reply
			if err := r.Read(&reply); errors.Is(err, io.EOF) {
				break
			} else if err != nil || n > strings.Count(in.String(), "\n") {
				t.Fatalf("reply %d: %v", n, err)
			}
			must.True(t, reply.Report == nil, "a report without a trial")
		}
	})
}
