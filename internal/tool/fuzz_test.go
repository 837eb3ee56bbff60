package tool

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// seeds adds all recorded outputs to a fuzz target.
func seeds(f *testing.F, add func([]byte)) {
	f.Helper()
	names, err := filepath.Glob("testdata/*/*")
	must.Require(f, err == nil && len(names) >= 30, "%d fixtures, %v", len(names), err)
	for _, name := range names {
		add(must.Get(os.ReadFile(name))(f))
	}
}

// rtt is the round trip of a report, 0 if it has none.
func rtt(r traffic.Report) float64 {
	if r.RTT == nil {
		return 0
	}
	return *r.RTT
}

// sane fails on impossible values.
func sane(t *testing.T, r traffic.Report) {
	t.Helper()
	for _, v := range append([]float64{r.Window.Seconds, r.Window.Interval, rtt(r), r.Traffic}, r.Window.Series...) {
		must.True(t, !math.IsNaN(v) && !math.IsInf(v, 0) && v >= 0, "a value of %g", v)
	}
	for _, n := range append([]int64{r.Sent, r.Received, r.Window.Sent, r.Window.Received}, r.Window.Streams...) {
		must.True(t, n >= 0, "a count of %d", n)
	}
}

func fuzz(f *testing.F, tool Tool, put func([]byte) output) {
	seeds(f, func(text []byte) { f.Add(text, false, false) })
	f.Fuzz(func(t *testing.T, text []byte, udp, server bool) {
		fix := fixture{tool: tool.Name, kind: tcpStream, streams: 1, direction: "forward", side: side(server), version: "3.12"}
		if udp {
			fix.kind = udpStream
		}
		if tool.Name == iperf2Name {
			fix.version = "2.1.8"
		}
		j := fix.job(t)
		s, err := tool.read(j, put(text))
		if err != nil {
			return
		}
		if r, err := s.report(j); err == nil {
			sane(t, r)
		}
	})
}

func FuzzIperf3(f *testing.F) {
	fuzz(f, iperf3(), func(b []byte) output { return output{stdout: b} })
}

func FuzzIperf2(f *testing.F) {
	fuzz(f, iperf2(), func(b []byte) output { return output{stdout: b} })
}

func FuzzWrk(f *testing.F) { fuzzAnswers(f, wrk(), http1Kind) }

func FuzzH2load(f *testing.F) { fuzzAnswers(f, h2load(), http2Kind) }

// fuzzAnswers checks that any output is an error or possible values, with a response that has no error.
func fuzzAnswers(f *testing.F, tool Tool, kind string) {
	seeds(f, func(text []byte) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text []byte) {
		j := fixture{tool: tool.Name, kind: kind, streams: 1, side: atClient, version: "4.1"}.job(t)
		s, err := tool.read(j, output{stdout: text, stderr: text})
		if err == nil {
			var r traffic.Report
			if r, err = s.report(j); err == nil {
				sane(t, r)
				must.True(t, r.Window.Messages >= 1 && r.Window.Failed >= 0 && r.Messages == r.Window.Messages && r.Window.Received == r.Window.Messages*1024, "%+v", r)
			}
		}
		must.True(t, err == nil || !strings.ContainsAny(err.Error(), "\n\r"), "the error %q is not one line", err)
	})
}

func FuzzNtttcp(f *testing.F) {
	fuzz(f, ntttcp(), func(b []byte) output { return output{file: b} })
}
