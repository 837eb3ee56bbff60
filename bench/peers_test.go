package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// near allows for rounding only.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

// The outputs are cut from real ones of the versions of Debian 12.
func TestParseBulk(t *testing.T) {
	udp, tcp := load{udp: true, streams: 1, size: 1400}, load{streams: 2, size: 128 << 10}
	for _, c := range []struct {
		name  string
		parse func(string) (carried, error)
		text  string
		want  carried
		err   string
	}{
		{"iperf3", parseIperf3, `{"end":{"sum_sent":{"seconds":1.0001,"bytes":2800,"packets":2},"sum_received":{"seconds":1.5,"bytes":1400,"packets":9}}}`,
			carried{sent: 2800, received: 1400, seconds: 1.5}, ""},
		{"iperf3 fails", parseIperf3, `{"start":{},"end":{},"error":"unable to connect to server: Connection refused"}`, carried{}, "Connection refused"},
		{"iperf3 without an end", parseIperf3, `{"end":{}}`, carried{}, "sum_received"},
		{"iperf3 says nothing", parseIperf3, "", carried{}, "iperf3"},
		{"iperf2 UDP", func(s string) (carried, error) { return parseIperf2(s, udp) },
			"19700101000000,198.19.240.1,52687,198.19.240.2,5202,1,0.0-1.0,140000,1120000,0.000,50,150,33.333,0\n",
			carried{sent: 210000, received: 140000, seconds: 1}, ""},
		{"iperf2 TCP", func(s string) (carried, error) { return parseIperf2(s, tcp) },
			"19700101000000,198.19.240.1,1,198.19.240.2,5202,1,0.0-1.0,1000,8000\n" +
				"19700101000000,198.19.240.1,2,198.19.240.2,5202,2,0.0-2.0,3000,12000\n" +
				"19700101000000,198.19.240.1,0,198.19.240.2,5202,-1,0.0-2.0,4000,16000\n",
			carried{received: 4000, seconds: 2}, ""},
		{"iperf2 lacks a connection", func(s string) (carried, error) { return parseIperf2(s, tcp) },
			"19700101000000,198.19.240.1,1,198.19.240.2,5202,1,0.0-1.0,1000,8000\n", carried{}, "1 of 2 connections"},
		{"nuttcp", func(s string) (carried, error) { return parseNuttcp(s, udp) },
			"megabytes=2.0000 real_seconds=1.25 rate_Mbps=13.4 tx_cpu=67 rx_cpu=20 drop=88598 pkt=2000 data_loss=46.38969\n",
			carried{sent: 2800000, received: 2097152, seconds: 1.25}, ""},
		{"nuttcp fails", func(s string) (carried, error) { return parseNuttcp(s, udp) }, "nuttcp-t: Error: connect", carried{}, "megabytes"},
	} {
		got, err := c.parse(c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want one with %q", c.name, err, c.err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}

func TestParseLatency(t *testing.T) {
	const sockperf = `sockperf: [Total Run] RunTime=2.000 sec; Warm up time=400 msec; SentMessages=162479; ReceivedMessages=162478
sockperf: [Valid Duration] RunTime=1.550 sec; SentMessages=125766; ReceivedMessages=124000
sockperf: ---> percentile 99.900 =   28.252
sockperf: ---> percentile 50.000 =   12.048
`
	got, err := parseSockperf(sockperf)
	if err != nil || got.rate != 80000 || !near(got.p50, 12.048e-6) || !near(got.p999, 28.252e-6) {
		t.Errorf("sockperf: %+v, %v", got, err)
	}
	if _, err := parseSockperf("sockperf: ERROR: _seqN > m_maxSequenceNo\n"); err == nil {
		t.Error("sockperf without figures: no error")
	}
	got, err = parseQperf("tcp_lat:\n    latency  =  12500 ns\n")
	if err != nil || got.rate != 40000 {
		t.Errorf("qperf: %+v, %v", got, err)
	}
	if _, err := parseQperf("failed to connect"); err == nil {
		t.Error("qperf without figures: no error")
	}
}

// A generator that loses all beyond what the path carries is driven to just
// below that.
func TestSearch(t *testing.T) {
	path := func(carries, sends float64) func(context.Context, float64) (carried, error) {
		return func(_ context.Context, rate float64) (carried, error) {
			if rate == 0 {
				rate = sends
			}
			return carried{sent: rate / 8, received: min(rate, carries) / 8, seconds: 1}, nil
		}
	}
	if got, err := search(t.Context(), path(2e9, 1e9)); err != nil || got != 0 {
		t.Errorf("nothing lost: %g, %v, want 0", got, err)
	}
	got, err := search(t.Context(), path(1e9, 3e9))
	// Of 3e9, eight halvings leave 3e9/256 open; 1 % of loss is allowed.
	if low, high := searchShare*(1e9-3e9/256), searchShare*1e9/(1-lossAllowed); err != nil || got < low || got > high {
		t.Errorf("a third carried: %g, %v, want %g to %g", got, err, low, high)
	}
	// What is lost once is tried again.
	calls := 0
	got, err = search(t.Context(), func(ctx context.Context, rate float64) (carried, error) {
		if calls++; calls == 1 {
			return path(1, 1e9)(ctx, rate)
		}
		return path(2e9, 1e9)(ctx, rate)
	})
	if err != nil || got != 0 || calls != 2 {
		t.Errorf("lost once: %g after %d calls, %v, want 0 after 2", got, calls, err)
	}
	if _, err := search(t.Context(), path(0, 1e9)); err == nil {
		t.Error("a path that carries nothing: no error")
	}
	broken := errors.New("broken")
	if _, err := search(t.Context(), func(context.Context, float64) (carried, error) { return carried{}, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// regular are datagrams of 1000 B, moved off an even schedule as move says.
func regular(n int, gap time.Duration, move func(k int) time.Duration) []packet {
	all := make([]packet, n)
	for k := range all {
		all[k] = packet{at: time.Duration(k)*gap + move(k), payload: 1000}
	}
	return all
}

func TestJudge(t *testing.T) {
	const gap, n = 100 * time.Microsecond, 11001
	even := func(int) time.Duration { return 0 }
	for _, c := range []struct {
		name     string
		all      []packet
		p50, p99 float64 // bounds, s
		burst    [2]float64
		rate     float64
	}{
		{"even", regular(n, gap, even), 1e-9, 1e-9, [2]float64{0.999, 1.001}, 8e7},
		// Eight datagrams wait for the last of them and leave together.
		{"in eights", regular(n, gap, func(k int) time.Duration { return time.Duration(7-k%8) * gap }), 401e-6, 401e-6, [2]float64{7.9, 8.1}, 8e7},
		// One in a hundred is half a gap late: p50 does not see it, p99 might.
		{"rarely late", regular(n, gap, func(k int) time.Duration {
			if k%100 == 99 {
				return gap / 2
			}
			return 0
		}), 2e-6, 51e-6, [2]float64{1.49, 1.51}, 8e7},
		// A steady rate that is 1 % too high is no unevenness, and no burst.
		{"too fast", regular(n, gap*99/100, even), 1e-9, 1e-9, [2]float64{0.999, 1.001}, 8e7 / 0.99},
	} {
		e, err := judge(c.all, gap.Seconds())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if e.p50 > c.p50 || e.p99 > c.p99 || e.burst < c.burst[0] || e.burst > c.burst[1] || math.Abs(e.rate/c.rate-1) > 1e-3 {
			t.Errorf("%s: %+v, want at most %g and %g, a burst of %v, %g bit/s", c.name, e, c.p50, c.p99, c.burst, c.rate)
		}
	}
	if _, err := judge(regular(50, gap, even), gap.Seconds()); err == nil {
		t.Error("too few: no error")
	}
}

// The best peer is whoever leaves tare the worst ratio, not whoever has the
// highest median in an hour of its own.
func TestRow(t *testing.T) {
	w := work{name: "w", placement: "one core", unit: "k/s", scale: 1e3, ask: ">= 1.0", least: 1, aim: 1.2}
	names := []string{"tare", "a", "b"}
	values := [][]float64{{2000, 4000, 8000}, {1000, 2000, 4000}, {1900, 3800, 7600}}
	if got, want := w.row(names, values), "| w | one core | 4 k/s | b 3.8 k/s (a 2 k/s) | 1.053 (1.053-1.053) | >= 1.0: yes |"; got != want {
		t.Errorf("row\n%s, want\n%s", got, want)
	}
	w.lower, w.ask, w.aim = true, "<= 1.0", 0
	if got, want := w.row(names, values), "| w | one core | 4 k/s | a 2 k/s (b 3.8 k/s) | 2.000 (2.000-2.000) | <= 1.0: no |"; got != want {
		t.Errorf("row\n%s, want\n%s", got, want)
	}
}

func TestInterleaved(t *testing.T) {
	var order strings.Builder
	one := func(name string) contestant {
		return contestant{name, func(context.Context) (float64, error) {
			order.WriteString(name)
			return rand.Float64(), nil
		}}
	}
	values, err := interleaved(t.Context(), 3, []contestant{one("a"), one("b")})
	if err != nil || len(values[0]) != 3 || len(values[1]) != 3 || order.String() != "abbaab" {
		t.Errorf("%v, %v in the order %s", values, err, &order)
	}
}

func TestChosen(t *testing.T) {
	if err := chosen("a,b", []string{"a", "b"}); err != nil {
		t.Error(err)
	}
	if err := chosen("a,c", []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("unknown section: %v", err)
	}
}
