package tool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tare/internal/testkit/must"
	"tare/internal/timelimit"
	"tare/internal/traffic"
)

// A tool that misbehaves results in one error in time, and never in values.
func TestMisbehaviour(t *testing.T) {
	for _, c := range []struct{ does, prints, want string }{
		{"hang", "", "it was killed: the trial is over"},
		{"family", "", "it was killed: the trial is over"},
		{"flood", "", "it wrote more than 4 MiB"},
		{"crash", "", "it printed nothing (last message: segmentation fault, perhaps)"},
		{"garbage", "", "its output is not JSON"},
		{"nothing", "", "it printed nothing"},
		{"talk", "iperf3-3.12/tcp.client.json", `its output has text after its JSON, which is complete: "Segmentation fault (core dumped)"`},
		{"print", "iperf3-3.12-written/cut.client.json", "its output is truncated"},
		{"print", "iperf3-3.12/busy.client.json", "busy"},
		{"print", "iperf3-3.12/refused.client.json", "no iperf3 server listens there"},
	} {
		t.Run(c.does+c.prints, func(t *testing.T) {
			fakes(t, c.does, c.prints)
			p := fakeParams(iperf3Name)
			p.Address = "127.0.0.1:5301"
			w, err := For(p)
			must.Do(t, err)
			long := timelimit.Scaled(20 * time.Second)
			if c.does == "hang" || c.does == "family" {
				long = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), long, errors.New("the trial is over"))
			defer cancel()
			_, err = w.Dial(ctx, p, nil)
			must.Fail(t, err, c.want)
			must.True(t, err == nil || !strings.Contains(err.Error(), "\n"), "%q is more than one line", err)
		})
	}
}

// A whole trial with fakes, of each tool: started, awaited, read, recorded.
func TestFakeTrial(t *testing.T) {
	for _, c := range []struct{ tool, banner, prints, version string }{
		{iperf3Name, "iperf 3.12 (cJSON 1.7.15)", "iperf3-3.12/tcp.@.json", "3.12"},
		{iperf2Name, "iperf version 2.2.1 (2025) pthreads", "iperf-2.2/tcp.@.csv", "2.2.1"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			fakes(t, "print", c.prints)
			t.Setenv(fakeVersion, c.banner)
			p := fakeParams(c.tool)
			if c.tool == iperf2Name {
				p.Address = "127.0.0.1:5301" // the port in its output identifies the sender
			}
			client, server := must.Get2(fakePair(t, p))(t)
			must.Get(Check(p, client, server))(t)
			for _, r := range []traffic.Report{client, server} {
				must.EqualFor(t, "version", c.version, r.Tool.Version)
			}
			must.True(t, client.Sent != 0 && client.Sent == server.Received, "sent %d, received %d", client.Sent, server.Received)
		})
	}
}

// fakePair runs the endpoints one after the other: a fake does not wait for its peer.
func fakePair(t *testing.T, p traffic.Params) (client, server traffic.Report, err error) {
	t.Helper()
	w, err := For(p)
	must.Do(t, err)
	t.Setenv(fakeWaits, "yes")
	s, err := w.Listen(p)
	if err != nil {
		return client, server, err
	}
	must.Do(t, must.Get(net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port())))(t).Close())
	if server, err = s.Serve(t.Context(), nil); err != nil {
		return client, server, err
	}
	if at := netip.MustParseAddrPort(p.Address); at.Port() == 0 {
		p.Address = netip.AddrPortFrom(at.Addr(), s.Port()).String()
	}
	client, err = w.Dial(t.Context(), p, nil)
	return client, server, err
}

// ntttcp writes its values to a file, which is removed afterwards.
func TestFakeNtttcp(t *testing.T) {
	fakes(t, "print", "ntttcp-linux-1.4.3/tcp.sender.xml")
	t.Setenv(fakeVersion, "NTTTCP for Linux 1.4.3")
	t.Setenv("TMPDIR", t.TempDir())
	p := fakeParams(ntttcpName)
	p.Address, p.Streams, p.Warmup, p.Duration = "127.0.0.1:5001", 4, time.Second, 10*time.Second
	w := must.Get(For(p))(t)
	r := must.Get(w.Dial(t.Context(), p, nil))(t)
	must.True(t, r.Tool.Version == "1.4.3" && r.Window.Sent == 12505000000 && r.Connections == 4 && r.Window.Streams == nil,
		"version %s, sent %d, %d connections, streams %v", r.Tool.Version, r.Window.Sent, r.Connections, r.Window.Streams)
	must.Fail(t, must.Err(w.Listen(p)), "requires the port below it as well")
	must.Contain(t, r.Tool.Output, "<ntttcps")
}

// A server that does not exit after its client is killed, and one that never listens is reported.
func TestServerDoesNotExit(t *testing.T) {
	fakes(t, "hang", "")
	w, err := For(fakeParams(iperf3Name))
	must.Do(t, err)
	s := must.Get(w.Listen(fakeParams(iperf3Name)))(t)
	t.Setenv(timelimit.Variable, "1")
	ended := make(chan traffic.Report, 1)
	ended <- traffic.Report{}
	began := time.Now()
	_, err = s.Serve(t.Context(), ended)
	if err == nil || !strings.Contains(err.Error(), "it had not exited 5s after its client") {
		t.Errorf("got %v after %s", err, time.Since(began))
	}
}

func TestServerExitsEarly(t *testing.T) {
	fakes(t, "print", "iperf3-3.12/inuse.server.json")
	p := fakeParams(iperf3Name)
	p.Address = "198.18.99.1:5301" // the address does not exist: the fake listens elsewhere, and exits
	s, err := must.Get(For(p))(t).Listen(p)
	if err == nil { // it was seen listening before it exited
		_, err = s.Serve(t.Context(), nil)
	}
	must.Fail(t, err, "something else listens on that port")
}

// Missing tools, and old versions.
func TestFind(t *testing.T) {
	for _, c := range []struct{ tool, banner, want string }{
		{iperf3Name, "iperf 3.0.11", "version 3.0.11 is too old"},
		{iperf3Name, "iperf version 2.1.8", "is not a version of iperf3"},
		{iperf3Name, "", "is not a version of iperf3"},
		{iperf2Name, "iperf 3.12 (cJSON 1.7.15)", "version 3.12 is not iperf2"},
		{iperf2Name, "iperf version 2.0.14a (2 Oct 2020) pthreads", "version 2.0.14a is too old"},
		{ntttcpName, "hello", "is not a version of ntttcp"},
	} {
		fakes(t, "nothing", "")
		t.Setenv(fakeVersion, c.banner)
		tool := must.Get(Named(c.tool))(t)
		must.Fail(t, must.Err(tool.find(t.Context())), c.want)
	}
	t.Setenv("PATH", t.TempDir())
	for name, want := range map[string]string{
		iperf3Name: "iperf3 is not installed: apt install iperf3", iperf2Name: "iperf is not installed: apt install iperf", ntttcpName: "is not installed",
	} {
		tool := must.Get(Named(name))(t)
		must.Fail(t, must.Err(tool.find(t.Context())), want)
	}
}

// What a tool that has exited says is part of the error that its server does not listen.
func TestPreferToolError(t *testing.T) {
	const said = "unable to start listener: Address already in use"
	none := errors.New("nothing listens on port 5201")
	tool := must.Get(Named(iperf3Name))(t)
	j := job{Params: params(tool.Name, "tcp_stream"), side: atServer}
	if got := preferToolError(none, j, tool, output{stdout: []byte(`{"error": "` + said + `"}`)}); !errors.Is(got, none) || !strings.Contains(got.Error(), said) {
		t.Errorf("the tool's error is lost: %v", got)
	}
	tool.read = func(job, output) (parsed, error) { return parsedOutput{}, nil }
	if got := preferToolError(none, j, tool, output{}); got != none { //nolint:errorlint // the very same
		t.Errorf("of a tool that says nothing: %v", got)
	}
}
