package peers

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"tare/bench/harness"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
)

// answered is the result of a request/response generator.
type answered struct {
	rate float64 // exchanges/s
	p999 float64 // round trip, s; 0 if the generator does not report it
	p50  float64 // the same
	cpu  float64 // CPUs used by both agents, their starts included; tare only
}

// asker is a request/response generator over TCP with one flow. perSecond is the rate of
// exchanges, 0 for a closed loop.
type asker struct {
	name string
	run  func(ctx context.Context, s *testbed, at cpuPlacement, perSecond int) (answered, error)
}

// askSeconds is the length of one run; sockperf discards 0.45 s of it.
const askSeconds = 2

// sockperfMessage is the shortest message of sockperf, in bytes.
const sockperfMessage = "14"

// tareAsk exchanges one byte each way.
func tareAsk(ctx context.Context, s *testbed, at cpuPlacement, perSecond int) (answered, error) {
	return waiting{}.ask(ctx, s, at, perSecond)
}

func (w waiting) ask(ctx context.Context, s *testbed, at cpuPlacement, perSecond int) (answered, error) {
	p := traffic.Params{
		Workload: study.Workload{
			Kind: "tcp_rr", Streams: 1, RequestSize: 1, ResponseSize: 1, NoDelay: new(true), TransactionRate: perSecond,
			SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
		},
		Warmup: 400 * time.Millisecond, Duration: askSeconds*time.Second - 450*time.Millisecond,
	}
	schedule(&p, w.spin, w.fifo)
	t, err := s.trial(ctx, at, p)
	if err != nil {
		return answered{}, err
	}
	rate, err := t.metric("transaction_rate")
	if err != nil {
		return answered{}, err
	}
	// From the distribution, because the metric may be missing for a closed loop.
	rtt := t.client.Window.RTT
	return answered{rate: rate, p50: rtt.Quantile(0.5), p999: rtt.Quantile(0.999), cpu: t.cpu.Seconds() / askSeconds}, nil
}

// sockperfAsk runs sockperf in one of two modes: ping-pong sends the next message when
// the last is answered, or when it is due if that is later; under-load sends when due
// regardless of outstanding messages.
func sockperfAsk(manner string) func(context.Context, *testbed, cpuPlacement, int) (answered, error) {
	return func(ctx context.Context, s *testbed, at cpuPlacement, perSecond int) (answered, error) {
		port := s.nextPort()
		to := []string{"--tcp", "-i", s.target(), "-p", strconv.Itoa(port)}
		client := append([]string{"sockperf", manner}, to...)
		client = append(client, "-t", strconv.Itoa(askSeconds), "-m", sockperfMessage, "--full-rtt")
		if perSecond > 0 {
			client = append(client, "--mps="+strconv.Itoa(perSecond))
		}
		if manner == "under-load" {
			client = append(client, "--reply-every", "1")
		}
		o, err := s.peer(ctx, at, peerRun{server: append([]string{"sockperf", "server"}, to...), client: client, proto: "tcp", port: port})
		if err != nil {
			return answered{}, err
		}
		return parseSockperf(o.client)
	}
}

// parseSockperf reads the part of the run that sockperf reports as valid.
func parseSockperf(text string) (answered, error) {
	seconds, err1 := numberIn(text, `\[Valid Duration\] RunTime=([0-9.]+) sec`)
	exchanges, err2 := numberIn(text, `\[Valid Duration\].*ReceivedMessages=([0-9]+)`)
	p50, err3 := numberIn(text, `percentile 50\.000 = +([0-9.]+)`)
	p999, err4 := numberIn(text, `percentile 99\.900 = +([0-9.]+)`)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return answered{}, fmt.Errorf("parse the output of sockperf: %w", err)
		}
	}
	return answered{rate: exchanges / seconds, p50: p50 / 1e6, p999: p999 / 1e6}, nil
}

// qperfAsk runs qperf's tcp_lat with messages of one byte.
func qperfAsk(ctx context.Context, s *testbed, at cpuPlacement, _ int) (answered, error) {
	port := s.nextPort()
	listen, data := strconv.Itoa(port), strconv.Itoa(port+1)
	o, err := s.peer(ctx, at, peerRun{
		server: []string{"qperf", "-lp", listen},
		client: []string{"qperf", s.target(), "-lp", listen, "-ip", data, "-t", strconv.Itoa(askSeconds), "-m", "1", "-uu", "-e", "6", "tcp_lat"},
		proto:  "tcp", port: port,
	})
	if err != nil {
		return answered{}, err
	}
	return parseQperf(o.client)
}

// parseQperf reads the latency, which is half a round trip. With -uu its unit is the
// nanosecond.
func parseQperf(text string) (answered, error) {
	half, err := numberIn(text, `latency += +([0-9.]+) ns`)
	if err != nil {
		return answered{}, fmt.Errorf("parse the output of qperf: %w", err)
	}
	return answered{rate: 1e9 / (2 * half)}, nil
}

// numberIn finds a number in a text with a regular expression with one group.
func numberIn(text, expression string) (float64, error) {
	m := regexp.MustCompile(expression).FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("nothing matches %q in %q", expression, text[:min(len(text), 500)])
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", m[0], err)
	}
	return v, nil
}

// RR compares tcp_rr with sockperf and qperf.
func RR(ctx context.Context, b harness.Options) error {
	askers := []asker{{"tare", tareAsk}, {"sockperf", sockperfAsk("ping-pong")}, {"qperf", qperfAsk}}
	return onTestbed(ctx, b, fmt.Sprintf("tcp_rr and its peers: 1 flow, 1 byte (sockperf: 14) each way, median of %d interleaved pairs of 2 s", b.Pairs),
		[]string{"sockperf", "qperf"}, func(ctx context.Context, s *testbed) error {
			columns()
			for _, at := range s.placements() {
				w := work{name: "tcp_rr, 1 flow", placement: at.name, unit: "k/s", scale: 1e3, ask: ">= 1.0", least: 1}
				var cs []contestant
				for _, a := range askers {
					cs = append(cs, contestant{a.name, func(ctx context.Context) (float64, error) {
						got, err := a.run(ctx, s, at, 0)
						return got.rate, err
					}})
				}
				if err := s.against(ctx, w, b.Pairs, cs); err != nil {
					return err
				}
			}
			return nil
		})
}

// gcRate is the rate of exchanges at which both endpoints are mostly idle.
const gcRate = 10_000

// GCPauses looks for pauses of the garbage collector in the round trips of an open loop
// that leaves the machine mostly idle. sockperf is written in C++ and has none.
func GCPauses(ctx context.Context, b harness.Options) error {
	var askers []asker
	for _, w := range waitings() {
		askers = append(askers, asker{w.name, w.ask})
	}
	askers = append(askers, asker{"sockperf, ping-pong", sockperfAsk("ping-pong")}, asker{"sockperf, under-load", sockperfAsk("under-load")})
	return onTestbed(ctx, b, fmt.Sprintf("Round trips at a steady %d/s: medians of %d runs of 2 s", gcRate, b.Pairs),
		[]string{"sockperf"}, func(ctx context.Context, s *testbed) error {
			harness.Columns("placement", "generator", "exchanges/s", "p50", "p99.9, median (min-max)", "CPUs of both agents")
			for _, at := range s.placements() {
				if err := notCompared(s.idleTrips(ctx, b.Pairs, at, askers), "tcp_rr", at); err != nil {
					return err
				}
			}
			return nil
		})
}

// idleTrips prints the rows of one placement.
func (s *testbed) idleTrips(ctx context.Context, n int, at cpuPlacement, askers []asker) error {
	seen := make([][]answered, len(askers))
	for range n {
		for i, a := range askers {
			got, err := retry(ctx, a.name, func(ctx context.Context) (answered, error) {
				got, err := a.run(ctx, s, at, gcRate)
				if err == nil {
					err = checkRate(a.name, got.rate, gcRate, "exchanges/s")
				}
				return got, err
			})
			if err != nil {
				return err
			}
			seen[i] = append(seen[i], got)
		}
	}
	for i, a := range askers {
		p999 := harness.Column(seen[i], func(g answered) float64 { return g.p999 * 1e6 })
		cpus := ""
		if seen[i][0].cpu > 0 {
			cpus = harness.Spread(harness.Column(seen[i], func(g answered) float64 { return g.cpu }))
		}
		fmt.Printf("| %s | %s | %.0f | %.1f us | %s us | %s |\n", at.name, a.name,
			medianOf(seen[i], func(g answered) float64 { return g.rate }),
			medianOf(seen[i], func(g answered) float64 { return g.p50 * 1e6 }), harness.Spread(p999), cpus)
	}
	return nil
}
