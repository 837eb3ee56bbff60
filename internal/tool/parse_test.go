package tool

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

var update = flag.Bool("update", false, "write the golden files again")

// fixture is an endpoint whose output is recorded below testdata.
type fixture struct {
	tool, file string
	kind       string
	streams    int
	direction  string // forward, reverse or both
	side       side
	version    string
}

// job returns the job of the recorded command line.
func (f fixture) job(t testing.TB) job {
	t.Helper()
	j := job{side: f.side, port: 5301, host: "127.0.0.1", grantedBuffer: 200 << 10}
	j.Params = traffic.Params{
		Workload: study.Workload{Kind: f.kind, Tool: f.tool, Streams: max(1, f.streams), SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(), Congestion: "nosuch", Direction: f.direction},
		CPU:      -1, Warmup: 200 * time.Millisecond, Duration: 800 * time.Millisecond,
	}
	if f.kind == udpStream {
		j.PayloadSize = 1400
	}
	switch f.kind {
	case http2Kind:
		j.Flows, j.ResponseSize = 2, 1024
	case http1Kind:
		j.ResponseSize = 1024
	}
	if f.tool == ntttcpName {
		j.Warmup, j.Duration = time.Second, 10*time.Second
	}
	banner := map[string]string{
		iperf3Name: "iperf " + f.version, iperf2Name: "iperf version " + f.version, ntttcpName: "NTTTCP for Linux " + f.version,
		wrkName: "wrk debian/" + f.version + " [epoll] Copyright", h2loadName: "h2load nghttp2/" + f.version,
	}[f.tool]
	tool := must.Get(Named(f.tool))(t)
	j.build = must.Get(tool.probe(banner, warmUpOption))(t)
	return j
}

// read reads the fixture as the tool's output.
func (f fixture) read(t testing.TB) (parsed, error) {
	t.Helper()
	tool := must.Get(Named(f.tool))(t)
	text := must.Get(os.ReadFile(filepath.Join("testdata", f.file)))(t)
	out := output{stdout: text}
	if f.tool == ntttcpName {
		out = output{stdout: []byte("NTTTCP for Linux 1.4.3\n"), file: text}
	}
	if words, err := os.ReadFile(filepath.Join("testdata", strings.TrimSuffix(strings.TrimSuffix(f.file, ".csv"), ".txt")+".err")); err == nil {
		out.stderr = words
	}
	return tool.read(f.job(t), out)
}

func fixtures() []fixture {
	var all []fixture
	add := func(tool, version, file, kind string, streams int, direction string, sides ...side) {
		for _, s := range sides {
			all = append(all, fixture{tool, strings.ReplaceAll(file, "*", s.String()), kind, streams, direction, s, version})
		}
	}
	const c, s = atClient, atServer
	for _, v := range []struct{ version, folder, ext string }{{"3.12", "iperf3-3.12", "json"}, {"3.21", "iperf3-3.21", "json"}} {
		add(iperf3Name, v.version, v.folder+"/tcp.*."+v.ext, tcpStream, 1, "forward", c, s)
		add(iperf3Name, v.version, v.folder+"/udp.*."+v.ext, udpStream, 1, "forward", c, s)
	}
	add(iperf3Name, "3.12", "iperf3-3.12/tcprev.*.json", tcpStream, 1, "reverse", c, s)
	add(iperf3Name, "3.12", "iperf3-3.12/tcpbidir.*.json", tcpStream, 2, "both", c, s)
	add(iperf3Name, "3.12", "iperf3-3.12/udp2.*.json", udpStream, 2, "forward", c, s)
	add(iperf3Name, "3.12", "iperf3-3.12/udprev.*.json", udpStream, 1, "reverse", c, s)
	add(iperf3Name, "3.12", "iperf3-3.12/udpbidir.*.json", udpStream, 1, "both", c, s)
	add(iperf3Name, "3.9", "iperf3-3.9/udp.*.json", udpStream, 1, "forward", c, s)
	add(iperf3Name, "3.14", "iperf3-3.14/omitted.*.json", tcpStream, 1, "forward", c)
	add(iperf3Name, "3.17", "iperf3-3.17/stream.*.ndjson", tcpStream, 1, "forward", c)
	add(iperf3Name, "3.17", "iperf3-3.17/refused.*.ndjson", tcpStream, 1, "forward", c)
	for _, name := range []string{"wtoobig", "badcc", "refused", "busy"} {
		add(iperf3Name, "3.12", "iperf3-3.12/"+name+".*.json", tcpStream, 1, "forward", c)
	}
	for _, name := range []string{"wtoobig", "inuse", "killed"} {
		add(iperf3Name, "3.12", "iperf3-3.12/"+name+".*.json", tcpStream, 1, "forward", s)
	}
	for _, name := range []string{"negative-loss", "loss-over-100", "overflow", "blksize"} {
		add(iperf3Name, "3.12", "iperf3-3.12-written/"+name+".*.json", udpStream, 1, "forward", s)
	}
	add(iperf3Name, "3.12", "iperf3-3.12-written/phantom.*.json", udpStream, 1, "forward", c)
	add(iperf3Name, "3.12", "iperf3-3.12-written/negative-bytes.*.json", tcpStream, 1, "forward", s)
	add(iperf3Name, "3.12", "iperf3-3.12-written/receiver-seconds.*.json", tcpStream, 1, "reverse", c)
	for _, name := range []string{"cut", "garbage"} {
		add(iperf3Name, "3.12", "iperf3-3.12-written/"+name+".*.json", tcpStream, 1, "forward", c)
	}
	for _, f := range []struct {
		name, kind string
		streams    int
		direction  string
	}{
		{"tcp", tcpStream, 1, "forward"}, {"tcp2", tcpStream, 2, "forward"}, {"tcprev", tcpStream, 1, "reverse"}, {"tcpfd", tcpStream, 1, "both"},
		{"udp", udpStream, 1, "forward"}, {"udp2", udpStream, 2, "forward"}, {"udprev", udpStream, 1, "reverse"}, {"udpfd", udpStream, 1, "both"},
		{"udpfd2", udpStream, 2, "both"}, {"udp-unlimited", udpStream, 1, "forward"}, {"wtoobig", tcpStream, 1, "forward"},
	} {
		add(iperf2Name, "2.1.8", "iperf-2.1.8/"+f.name+".*.csv", f.kind, f.streams, f.direction, c, s)
	}
	for _, name := range []string{"badcc", "refused"} {
		add(iperf2Name, "2.1.8", "iperf-2.1.8/"+name+".*.csv", tcpStream, 1, "forward", c)
	}
	add(iperf2Name, "2.1.8", "iperf-2.1.8/inuse.*.csv", tcpStream, 1, "forward", s)
	add(iperf2Name, "2.1.8", "iperf-2.1.8-written/cut.*.csv", tcpStream, 1, "forward", c)
	add(iperf2Name, "2.1.8", "iperf-2.1.8-written/old-2.0.5-sum.*.csv", tcpStream, 2, "forward", c)
	add(iperf2Name, "2.1.8", "iperf-2.1.8-written/impossible-loss.*.csv", udpStream, 1, "forward", s)
	add(iperf2Name, "2.2.1", "iperf-2.2/tcp.*.csv", tcpStream, 1, "forward", c, s)
	add(iperf2Name, "2.2.1", "iperf-2.2/udp.*.csv", udpStream, 1, "forward", c, s)
	add(iperf2Name, "2.2.1", "iperf-2.2/both.*.csv", tcpStream, 1, "both", c)
	for _, folder := range []string{"ntttcp-linux-1.4.3", "ntttcp-windows-5.40", "ntttcp-windows-Bps"} {
		add(ntttcpName, "1.4.3", folder+"/tcp.sender.xml", tcpStream, 1, "forward", c)
		add(ntttcpName, "1.4.3", folder+"/tcp.receiver.xml", tcpStream, 1, "forward", s)
	}
	add(ntttcpName, "1.4.3", "ntttcp-linux-1.4.3/udp.sender.xml", udpStream, 1, "forward", c)
	add(ntttcpName, "1.4.3", "ntttcp-linux-1.4.3/udp.receiver.xml", udpStream, 1, "forward", s)
	add(ntttcpName, "1.4.3", "ntttcp-linux-1.4.3/tcp.sender.json", tcpStream, 1, "forward", c)
	add(ntttcpName, "1.4.3", "ntttcp-linux-1.4.3/tcp.receiver.xml", tcpStream, 1, "forward", c) // the wrong endpoint
	add(ntttcpName, "1.3.0", "ntttcp-linux-1.3/tcp.sender.xml", tcpStream, 1, "forward", c)
	for _, name := range []string{"answered", "statuses", "errors", "reset", "refused", "late"} {
		add(wrkName, "4.1.0-3+b2", "wrk-4.1.0/"+name+".txt", http1Kind, 4, "forward", c)
	}
	for _, name := range []string{"cut", "more-errors", "no-responses"} {
		add(wrkName, "4.1.0-3+b2", "wrk-4.1.0-written/"+name+".txt", http1Kind, 4, "forward", c)
	}
	for _, name := range []string{"http1", "http1-reset"} {
		add(h2loadName, "1.52.0", "h2load-1.52.0/"+name+".txt", http1Kind, 4, "forward", c)
	}
	for _, name := range []string{"answered", "statuses", "errors", "reset", "refused"} {
		add(h2loadName, "1.52.0", "h2load-1.52.0/"+name+".txt", http2Kind, 3, "forward", c)
	}
	for _, name := range []string{"cut", "another-window", "sums"} {
		add(h2loadName, "1.52.0", "h2load-1.52.0-written/"+name+".txt", http2Kind, 3, "forward", c)
	}
	return all
}

// The values and errors that are read from every recorded output.
func TestFixtures(t *testing.T) {
	var got strings.Builder
	for _, f := range fixtures() {
		fmt.Fprintf(&got, "%s as %s %s %s\n", f.file, f.direction, f.kind, f.side)
		s, err := f.read(t)
		var r traffic.Report
		if err == nil {
			r, err = s.report(f.job(t))
		}
		if err != nil {
			fmt.Fprintf(&got, "  error: %v\n\n", err)
			continue
		}
		got.WriteString(summary(t, r, s))
	}
	must.File(t, filepath.Join("testdata", "reports.golden"), got.String(), *update)
}

func summary(t *testing.T, r traffic.Report, s parsed) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "  sent %d, received %d in %.2f s", r.Sent, r.Received, r.Traffic)
	fmt.Fprintf(&b, "; window %.3f s of %d: sent %d, received %d, streams %v", r.Window.Seconds, len(r.Window.Series), r.Window.Sent, r.Window.Received, r.Window.Streams)
	if r.Retransmits != nil {
		fmt.Fprintf(&b, ", resent %d", *r.Retransmits)
	}
	if r.Window.Messages > 0 {
		fmt.Fprintf(&b, ", %d answered, %d failed over %d connections, %d together", r.Window.Messages, r.Window.Failed, r.Connections, r.Together)
	}
	fmt.Fprintf(&b, "\n  %q mss %d rtt %.6f buffers %d %d", r.Congestion, r.MSS, rtt(r), r.SendBuffer, r.ReceiveBuffer)
	if r.Datagrams != nil {
		flows := must.Get(json.Marshal(r.Datagrams.Flows))(t)
		fmt.Fprintf(&b, "\n  flows %s, reordered %d, messages %d", flows, traffic.Count(r.Datagrams.Reordered), r.Messages)
		if n := s.lost(); n != nil {
			fmt.Fprintf(&b, ", says %d lost", *n)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n  %s: %s", n.Code, n.Text)
	}
	return b.String() + "\n\n"
}
