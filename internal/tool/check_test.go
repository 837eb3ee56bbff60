package tool

import (
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
	"tare/internal/warning"
)

// end returns a report of one endpoint of a UDP trial.
func end(name, version string, sent, received int64, lost *int64) traffic.Report {
	return traffic.Report{End: result.End{Sent: sent * 1400, Received: received * 1400}, Tool: &traffic.ToolRun{ToolEnd: result.ToolEnd{Version: version}, Name: name, Lost: lost}, Window: traffic.Window{Seconds: 2, Interval: 1, Sent: sent * 700, Received: received * 700, Series: []float64{float64(received) * 350, float64(received) * 350}}, Datagrams: &traffic.Datagrams{Flows: []traffic.FlowCount{{Sent: sent, SentCounted: sent, Received: received, ReceivedCounted: received}}}}
}

func TestCheck(t *testing.T) {
	gaps, beyond := int64(5), int64(1001)
	forward, asked := traffic.Params{Workload: study.Workload{Kind: udpStream}}, traffic.Params{Workload: study.Workload{Kind: http1Kind}}
	counted := func(name string, n int64) traffic.Report {
		return traffic.Report{Messages: n, Tool: &traffic.ToolRun{Name: name}}
	}
	for _, c := range []struct {
		name           string
		p              traffic.Params
		client, server traffic.Report
		code           warning.Code
		err            string
	}{
		{"consistent", forward, end(iperf3Name, "3.12", 1000, 995, nil), end(iperf3Name, "3.12", 0, 995, &gaps), "", ""},
		{"mixed versions of iperf3", forward, end(iperf3Name, "3.21", 1000, 0, nil), end(iperf3Name, "3.12", 0, 1000, &gaps), "", "install the same version on both"},
		{"mixed versions of iperf2", forward, end(iperf2Name, "2.2.1", 1000, 0, nil), end(iperf2Name, "2.1.8", 0, 995, &gaps), warning.ToolVersions, ""},
		{"two tools", forward, end(iperf3Name, "3.12", 1000, 0, nil), end(iperf2Name, "2.1.8", 0, 995, &gaps), "", "the client ran iperf3 and the server iperf2"},
		{"one built-in endpoint", forward, end(iperf3Name, "3.12", 1000, 0, nil), traffic.Report{}, "", "one endpoint used an external tool"},
		{"both built in", forward, traffic.Report{}, traffic.Report{}, "", ""},
		{"more than was sent", forward, end(iperf3Name, "3.12", 990, 0, nil), end(iperf3Name, "3.12", 0, 995, &gaps), "", "which is impossible"},
		{"nothing arrived", forward, end(iperf3Name, "3.12", 990, 0, nil), end(iperf3Name, "3.12", 0, 0, nil), "", "received nothing"},
		{"more lost than was sent", forward, end(iperf3Name, "3.12", 1000, 0, nil), end(iperf3Name, "3.12", 0, 900, &beyond), warning.ToolLossCount, ""},
		{"a lost tail", forward, end(iperf3Name, "3.12", 2000, 0, nil), end(iperf3Name, "3.12", 0, 1000, &gaps), warning.TailLoss, ""},
		{"ntttcp's windows differ", forward, end(ntttcpName, "1.4.3", 990, 0, nil), end(ntttcpName, "1.4.3", 0, 995, nil), warning.ToolNoLoss, ""},
		{"reverse", traffic.Params{Workload: study.Workload{Kind: udpStream, Direction: study.Reverse}}, end(iperf3Name, "3.12", 0, 995, &gaps), end(iperf3Name, "3.12", 990, 0, nil), "", "reverse: iperf3 reports"},
		{"wrk and tare's server", asked, counted(wrkName, 10), traffic.Report{Messages: 11}, "", ""},
		{"more responses than the server sent", asked, counted(wrkName, 10), traffic.Report{Messages: 9}, "", "wrk reports 10 responses, but the server of the trial sent 9"},
		{"wrk and another server", asked, counted(wrkName, 10), end(iperf3Name, "3.12", 0, 1, nil), "", "the client ran wrk and the server iperf3"},
	} {
		notes, err := Check(c.p, c.client, c.server)
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.err)
		case c.err == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case (c.code == "") != (len(notes) == 0) || c.code != "" && notes[0].Code != string(c.code):
			t.Errorf("%s: notes %v, want %q", c.name, notes, c.code)
		}
	}
}

// Loss is what was sent less what was received, and unknown if that is impossible.
func TestMetrics(t *testing.T) {
	w := workload{tool: iperf3(), kind: udpStream}
	m, series := w.Metrics(traffic.Params{Workload: study.Workload{Kind: udpStream}}, end(iperf3Name, "3.12", 1000, 0, nil), end(iperf3Name, "3.12", 0, 900, nil))
	want := map[string]float64{"goodput": 900 * 700 * 4, "offered_load": 1000 * 700 * 4, "loss_ratio": 0.1, "reordered_ratio": 0}
	must.Equal(t, want, m)
	must.True(t, len(series.Values) == 2 && series.Values[0] == 900*350*8 && series.Interval == 1, "series %+v", series)
	m, _ = w.Metrics(traffic.Params{Workload: study.Workload{Kind: udpStream, Direction: study.Reverse}}, end(iperf3Name, "3.12", 0, 900, nil), end(iperf3Name, "3.12", 1000, 0, nil))
	must.Equal(t, want, m)
	m, _ = w.Metrics(traffic.Params{Workload: study.Workload{Kind: udpStream, Direction: study.Both}}, end(iperf3Name, "3.12", 1000, 500, nil), end(iperf3Name, "3.12", 1000, 1000, nil))
	must.True(t, m["loss_ratio"] == 0.25 && m["goodput"] == m["goodput_forward"]+m["goodput_reverse"], "both: %v", m)
	m, _ = w.Metrics(traffic.Params{Workload: study.Workload{Kind: udpStream}}, end(iperf3Name, "3.12", 900, 0, nil), end(iperf3Name, "3.12", 0, 1000, nil))
	if v, ok := m["loss_ratio"]; ok {
		t.Errorf("a loss of %g is reported although more was received than sent", v)
	}
}

// The window consists of the intervals in the middle, and a partial one does not count.
func TestCutWindow(t *testing.T) {
	var a, b flow
	for i := range 10 {
		a.rows = append(a.rows, row{start: float64(i) / 10, seconds: 0.1, bytes: 100, retransmits: 1})
		if i < 8 {
			b.rows = append(b.rows, row{start: float64(i)/10 + 0.002, seconds: 0.1, bytes: 50})
		}
	}
	a.rows = append(a.rows, row{start: 1, seconds: 0.01, bytes: 1e6})
	a.hasSegments, b.hasSegments = true, true
	w := must.Get(cutWindow([]flow{b, a}, 0.1, 300*time.Millisecond, 2*time.Second))(t)
	must.True(t, math.Abs(w.seconds-0.7) <= 1e-9 && w.bytes == 700+250 && w.streams[0] == 250 && w.streams[1] == 700 && len(w.series) == 7 && *w.retransmits == 7, "window %+v", w)
	must.Fail(t, must.Err(cutWindow([]flow{a}, 0.1, time.Minute, time.Second)), "it ended early")
}

// An upper bound of what is on the wire is never below what was sent.
func TestSetUpperBound(t *testing.T) {
	j := job{Params: traffic.Params{Workload: study.Workload{Kind: tcpStream}}}
	r := traffic.Report{End: result.End{Sent: 1 << 30}}
	kernelCount{}.setUpperBound(&r, j) // without counters
	must.True(t, r.TCP.Wire >= 2<<30 && r.TCP.Segments >= (2<<30)/leastSegment, "at most %d bytes in %d segments", r.TCP.Wire, r.TCP.Segments)
	before, after := kernelCount{1000, 10, true}, kernelCount{51000, 60, true}
	after.since(before).setUpperBound(&r, j)
	must.True(t, r.TCP.Wire == 50000 && r.TCP.Segments == 50, "at most %d bytes in %d segments", r.TCP.Wire, r.TCP.Segments)
	j.side = atServer // acknowledgements: their least number is unknown
	after.since(before).setUpperBound(&r, j)
	must.True(t, r.TCP.Wire == 50000+50*headerAllowance && r.TCP.Segments == 0, "back: at most %d bytes in %d segments", r.TCP.Wire, r.TCP.Segments)
}

// Of a long output, the head and the tail are kept.
func TestTruncateOutput(t *testing.T) {
	got := truncateOutput([]byte("head" + strings.Repeat("x", 1<<20) + "\xfftail"))
	must.True(t, len(got) <= maxKeptOutput && strings.HasPrefix(got, "head") && strings.HasSuffix(got, "?tail") && strings.Contains(got, "left out"), "kept %d bytes", len(got))
	must.EqualFor(t, "a short output is not kept completely", "short", truncateOutput([]byte("short")))
}

// A smaller buffer than requested, a rate that is not reached, and parameters that a tool does not
// support are reported.
func TestNotes(t *testing.T) {
	j := job{grantedBuffer: 425984 / 2, side: atClient, build: build{version: "3.12", major: 3, minor: 12}}
	j.Params = traffic.Params{Workload: study.Workload{Kind: udpStream, Tool: iperf3Name, Streams: 4, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.Buffer(1 << 20), Burst: 16, Rate: 1e9, PayloadSize: 1400}}
	codes := map[warning.Code]bool{}
	for _, n := range append(j.notes(), versionNotes(j)...) {
		codes[warning.Code(n.Code)] = true
	}
	want := map[warning.Code]bool{warning.ToolBuffers: true, warning.ToolIgnored: true, warning.ToolOneThread: true, warning.ToolPacing: true}
	must.Equal(t, want, codes)
	r := traffic.Report{Window: traffic.Window{Seconds: 1, Sent: 100e6}}
	if n := rateNote(j, r); len(n) != 1 || n[0].Code != string(warning.GeneratorLimited) || !strings.Contains(n[0].Text, "800 of the requested 1000 Mbit/s") {
		t.Errorf("notes %v", n)
	}
	r.Window.Sent = 125e6
	must.EqualFor(t, "notes", 0, len(rateNote(j, r)))
}
