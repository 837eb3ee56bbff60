package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/warning"
)

// The test binary also acts as the tools that the tests of process handling start: see
// fake_test.go.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); slices.Contains([]string{"iperf3", "iperf", "ntttcp"}, name) {
		os.Exit(fake(name))
	}
	goleak.VerifyTestMain(m)
}

func params(tool, kind string) traffic.Params {
	p := traffic.Params{
		Workload: study.Workload{Kind: kind, Tool: tool, Streams: 1, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer()},
		Address:  "127.0.0.1:0", Token: "x", CPU: -1, Warmup: 200 * time.Millisecond, Duration: 700 * time.Millisecond,
	}
	if kind == udpStream {
		p.PayloadSize, p.Rate = 1400, 20e6
		return p
	}
	p.WriteSize, p.NoDelay, p.Congestion, p.Rate = 64<<10, new(true), "reno", 200e6
	return p
}

// pair runs both endpoints of a trial as two agents would.
func pair(t *testing.T, p traffic.Params) (client, server traffic.Report, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timelimit.Scaled(40*time.Second))
	defer cancel()
	w, err := For(p)
	must.Do(t, err)
	s, err := w.Listen(p)
	if err != nil {
		return client, server, err
	}
	type answer struct {
		r   traffic.Report
		err error
	}
	served, peer := make(chan answer, 1), make(chan traffic.Report, 1)
	go func() {
		r, err := s.Serve(ctx, peer)
		served <- answer{r, err}
	}()
	host := p.Address[:len(p.Address)-1]
	p.Address = fmt.Sprintf("%s%d", host, s.Port())
	client, err = w.Dial(ctx, p, nil)
	if err != nil {
		cancel() // the controller cancels the server of a failed client
	}
	peer <- client
	a := <-served
	return client, a.r, errors.Join(err, a.err)
}

// need is for tests with a tool; see testneed.
func need(t *testing.T, executable string) {
	t.Helper()
	testneed.NotShort(t)
	if _, err := exec.LookPath(executable); err != nil {
		testneed.Missing(t, testneed.Tools, err)
	}
}

// The real tools, in every direction: both endpoints agree, and the values are those of the window.
func TestRealTools(t *testing.T) {
	executables := map[string]string{iperf3Name: "iperf3", iperf2Name: "iperf"}
	for _, name := range []string{iperf3Name, iperf2Name} {
		for _, kind := range []string{tcpStream, udpStream} {
			for _, direction := range []string{study.Forward, study.Reverse, study.Both} {
				t.Run(name+"/"+kind+"/"+direction, func(t *testing.T) {
					t.Parallel()
					need(t, executables[name])
					p := params(name, kind)
					p.Direction = direction
					if p.Streams = 2; name == iperf2Name && kind == udpStream && direction != study.Forward {
						p.Streams = 1 // see testdata/iperf-2.1.8/udpfd2.client.err for the reason
					}
					real(t, p)
				})
			}
		}
	}
}

func real(t *testing.T, p traffic.Params) {
	client, server := must.Get2(pair(t, p))(t)
	notes := must.Get(Check(p, client, server))(t)
	for _, r := range []traffic.Report{client, server} {
		for _, n := range append(r.Notes, notes...) {
			t.Logf("%s: %s", n.Code, n.Text)
		}
		must.True(t, r.Tool.Name == p.Tool && r.Tool.Version != "" && len(r.Tool.Command) >= 5 && len(r.Tool.Output) >= 100,
			"the run is recorded as %q %q %q, %d bytes of output", r.Tool.Name, r.Tool.Version, r.Tool.Command, len(r.Tool.Output))
		must.True(t, r.Connections == p.Streams && len(r.Window.Streams) == p.Streams, "%d connections, %d streams, want %d", r.Connections, len(r.Window.Streams), p.Streams)
		must.True(t, r.Window.Seconds > 0 && len(r.Window.Series) != 0 && len(r.Window.Series) <= 9,
			"a window of %g s with %d intervals was cut for %s", r.Window.Seconds, len(r.Window.Series), p.Duration)
		must.True(t, r.TCP.Wire >= uint64(r.Sent), "at most %d bytes on the wire, but %d were sent", r.TCP.Wire, r.Sent)
	}
	w := must.Get(For(p))(t)
	if p.Both() {
		must.True(t, min(client.Received, server.Received, client.Sent, server.Sent) != 0,
			"one direction has no traffic: %d, %d sent, %d, %d received", client.Sent, server.Sent, client.Received, server.Received)
		if p.Kind == tcpStream {
			return // the metrics of both directions are those of the built-in workload
		}
	}
	m, series := w.Metrics(p, client, server)
	must.True(t, m["goodput"] > 0 && len(series.Values) != 0, "goodput is %g, with %d intervals", m["goodput"], len(series.Values))
	for name, v := range m {
		if _, known := result.MetricNamed(name); !known || v < 0 || name == "loss_ratio" && v > 1 {
			t.Errorf("%s is %g", name, v)
		}
	}
	if _, ok := m["loss_ratio"]; ok != (p.Kind == udpStream) {
		t.Errorf("metrics %s: %v", p.Kind, m)
	}
}

// The real clients of requests: the built-in server answers them, and counts what they count.
func TestRealClients(t *testing.T) {
	for _, c := range []struct{ tool, kind string }{{wrkName, http1Kind}, {h2loadName, http1Kind}, {h2loadName, http2Kind}} {
		for _, flows := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%s/%d", c.tool, c.kind, flows), func(t *testing.T) {
				needWeb(t, c.tool)
				p := clientParams(c.tool, c.kind, flows)
				client, server, err := pair(t, p)
				for err != nil && strings.Contains(err.Error(), "its clients counted for") && p.Duration < 10*time.Second { // h2load's clocks are apart by as long as it got no CPU
					p.Warmup, p.Duration = 2*p.Warmup, 2*p.Duration
					client, server, err = pair(t, p)
				}
				must.Do(t, err)
				must.Get(Check(p, client, server))(t)
				w := must.Get(For(p))(t)
				m, series := w.Metrics(p, client, server)
				must.True(t, m["transaction_rate"] > 0 && m["loss_ratio"] == 0 && len(m) == 2 && series == nil, "metrics %v, series %v", m, series)
				for _, n := range slices.Concat(client.Notes, server.Notes) {
					must.True(t, c.tool == wrkName && n.Code == string(warning.ToolIgnored), "%s: %s", n.Code, n.Text)
				}
				must.True(t, client.Connections == flows && server.Connections == flows && server.Refused == 0 && client.Tool != nil && server.Tool == nil,
					"%d and %d connections, %d refused, tools %v and %v", client.Connections, server.Connections, server.Refused, client.Tool, server.Tool)
				if client.Received != client.Messages*3000 || client.Received > server.Sent || SentBy(client, server) != server.Received || server.Received == 0 {
					t.Errorf("%d responses, %d bytes received of %d sent, %d sent", client.Messages, client.Received, server.Sent, SentBy(client, server))
				}
				// What the server sent besides was on the way at the end, or before the timed window.
				if atOnce := int64(flows * max(1, client.Together)); c.tool == wrkName && server.Messages > client.Messages+atOnce {
					t.Errorf("wrk counts %d responses of %d", client.Messages, server.Messages)
				}
			})
		}
	}
}

// clientParams are those of a trial of requests.
func clientParams(tool, kind string, flows int) traffic.Params {
	p := params(tool, tcpStream)
	p.Kind, p.Streams, p.ResponseSize, p.Rate, p.WriteSize, p.KeepAlive, p.Congestion = kind, flows, 3000, 0, 0, study.On, defaultCongestion()
	if kind == http2Kind {
		p.Flows, p.Streams = flows, 5
	}
	return p
}

// needWeb is for tests with a client of requests; see testneed.
func needWeb(t *testing.T, executable string) {
	t.Helper()
	testneed.NotShort(t)
	if _, err := exec.LookPath(executable); err != nil {
		testneed.Missing(t, testneed.Web, err)
	}
}

// A server that does not know the trial's tag answers with errors only, which is no result.
func TestClientOfAnother(t *testing.T) {
	for _, c := range []struct{ tool, kind string }{{wrkName, http1Kind}, {h2loadName, http2Kind}} {
		t.Run(c.tool, func(t *testing.T) {
			needWeb(t, c.tool)
			p := clientParams(c.tool, c.kind, 1)
			w := must.Get(For(p))(t)
			s := must.Get(w.Listen(p))(t)
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error)
			go func() {
				_, err := s.Serve(ctx, nil)
				served <- err
			}()
			p.Token, p.Address = "y", fmt.Sprintf("127.0.0.1:%d", s.Port())
			_, err := w.Dial(t.Context(), p, nil)
			must.FailLine(t, c.tool, err, "it had no response")
			cancel()
			must.Fail(t, <-served, "")
		})
	}
}

// Whatever a tool or its environment lacks is only an error.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*traffic.Params)
	}{
		{"unknown tool", func(p *traffic.Params) { p.Tool = "netperf" }},
		{"an unsupported kind", func(p *traffic.Params) { p.Kind = "tcp_rr" }},
		{"no streams", func(p *traffic.Params) { p.Streams = 0 }},
		{"no address", func(p *traffic.Params) { p.Address = "localhost" }},
		{"no window", func(p *traffic.Params) { p.Duration = 0 }},
		{"two buffers", func(p *traffic.Params) {
			p.SendBuffer, p.ReceiveBuffer = quantity.Buffer(1<<16), quantity.Buffer(1<<17)
		}},
		{"offload", func(p *traffic.Params) { p.Offload = study.On }},
		{"no payload", func(p *traffic.Params) { p.Kind, p.PayloadSize = udpStream, 0 }},
		{"wrk on a schedule", func(p *traffic.Params) { *p = clientParams(wrkName, http1Kind, 1); p.TransactionRate = 10 }},
		{"wrk with bodies", func(p *traffic.Params) { *p = clientParams(wrkName, http1Kind, 1); p.RequestSize = 10 }},
		{"h2load without connections that stay open", func(p *traffic.Params) { *p = clientParams(h2loadName, http1Kind, 1); p.KeepAlive = study.Off }},
		{"h2load in TLS", func(p *traffic.Params) { *p = clientParams(h2loadName, http2Kind, 1); p.TLS = study.On }},
		{"h2load with a buffer", func(p *traffic.Params) {
			*p = clientParams(h2loadName, http2Kind, 1)
			p.ReceiveBuffer = quantity.Buffer(1 << 16)
		}},
		{"wrk for HTTP/2", func(p *traffic.Params) { *p = clientParams(wrkName, http2Kind, 1) }},
		{"ntttcp in reverse", func(p *traffic.Params) { p.Tool, p.Direction = ntttcpName, study.Reverse }},
	} {
		p := params(iperf3Name, tcpStream)
		c.change(&p)
		w, err := For(p)
		if err == nil {
			_, err = w.Listen(p)
		}
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		t.Logf("%s: %v", c.name, err)
	}
	if w, err := For(traffic.Params{Workload: study.Workload{Kind: tcpStream, Tool: study.BuiltIn}}); err != nil || w.Spec().Title != "TCP bulk transfer" {
		t.Errorf("tare as a tool is the built-in workload, got %v, %v", w, err)
	}
}

// The keys that a tool does not support are told each once, whatever else the workload has; the built-in generator supports all.
func TestProblems(t *testing.T) {
	all := study.Workload{Kind: http1Kind, RequestSize: 10, ResponseMix: "9x1KiB,1x1MiB", TransactionRate: 100, KeepAlive: study.Off, TLS: study.On, WithLoad: study.TCPLoad, FanIn: 2,
		Wait: study.Spin, SendBuffer: quantity.Buffer(1 << 16), ReceiveBuffer: quantity.Buffer(1 << 17), Burst: 8}
	for tool, want := range map[string]string{
		wrkName:       "wait with_load fan_in transaction_rate request_size response_mix keep_alive tls send_buffer receive_buffer",
		iperf3Name:    "wait with_load fan_in send_buffer",
		study.BuiltIn: "",
	} {
		var keys []string
		for _, p := range Problems(tool, all) {
			keys = append(keys, p.Path)
		}
		must.EqualFor(t, tool, want, strings.Join(keys, " "))
	}
	must.EqualFor(t, "a workload that wrk can generate", 0, len(Problems(wrkName, study.Workload{Kind: http1Kind, Streams: 4, ResponseSize: 1 << 10})))
}

// A trial by a tool is never run in slices, and the catalog lists what exists.
func TestRegistry(t *testing.T) {
	for _, tool := range All() {
		must.True(t, len(tool.Kinds) != 0, "%s supports nothing", tool.Name)
		for _, kind := range tool.Kinds {
			must.True(t, slices.Contains(ForWorkload(kind), tool.Name), "%s is not among the tools for %s", tool.Name, kind)
			w := must.Get(For(traffic.Params{Workload: study.Workload{Tool: tool.Name, Kind: kind}}))(t)
			if _, ok := w.(traffic.Sliced); ok {
				t.Errorf("%s by %s could run in slices", kind, tool.Name)
			}
			if w.Spec().Kind != kind {
				t.Errorf("%s by %s calls itself %s", kind, tool.Name, w.Spec().Kind)
			}
		}
	}
	if got := ForWorkload("tcp_sleep"); got != nil {
		t.Errorf("%v support an unknown workload", got)
	}
}
