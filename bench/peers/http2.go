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
	"tare/internal/unit"
)

// http2Load is a load of HTTP/2 requests without bodies.
type http2Load struct {
	flows, streams, response int
	at                       cpuPlacement
}

// HTTP2 compares the client of http2 with h2load: both ask tare's server, in the clear.
func HTTP2(ctx context.Context, b harness.Options) error {
	title := fmt.Sprintf("http2 and h2load: GET in the clear from tare's server, median of %d interleaved pairs of %d s", b.Pairs, httpSeconds)
	return onTestbed(ctx, b, title, []string{"h2load"}, func(ctx context.Context, s *testbed) error {
		all := s.placements()
		one, two := all[0], all[len(all)-1]
		columns()
		for _, l := range []http2Load{{1, 1, 1 << 10, one}, {1, 10, 1 << 10, one}, {4, 10, 1 << 10, one}, {1, 10, 16 << 10, one}, {1, 1, 1 << 10, two}, {1, 10, 1 << 10, two}} {
			values, err := interleaved(ctx, b.Pairs, []contestant{
				{"tare", func(ctx context.Context) (float64, error) { return l.tare(ctx, s) }},
				{"h2load", func(ctx context.Context) (float64, error) { return l.h2load(ctx, s) }},
			})
			if err != nil {
				return err
			}
			name := fmt.Sprintf("http2, %s of %s, %d B", unit.Count(l.flows, "flow", "flows"), unit.Count(l.streams, "stream", "streams"), l.response)
			s.print(work{name: name, placement: l.at.name, unit: "k/s", scale: 1e3, ask: ">= 1.0", least: 1}, []string{"tare", "h2load"}, values)
		}
		return nil
	})
}

// params are the parameters of both endpoints, without a warm-up, because h2load has none.
func (l http2Load) params() traffic.Params {
	return traffic.Params{
		Workload: study.Workload{
			Kind: "http2", Flows: l.flows, Streams: l.streams, ResponseSize: quantity.Size(l.response),
			SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
		},
		Duration: httpSeconds * time.Second,
	}
}

func (l http2Load) tare(ctx context.Context, s *testbed) (float64, error) {
	t, err := s.trial(ctx, l.at, l.params())
	if err != nil {
		return 0, err
	}
	return t.metric("transaction_rate")
}

// h2load runs h2load as the client of tare's server, in the place of tare's.
func (l http2Load) h2load(ctx context.Context, s *testbed) (float64, error) {
	out, err := foreignClient(ctx, s, l.at, l.params(), func(url, tag string) []string {
		return []string{"h2load", "-t", "1", "-c", strconv.Itoa(l.flows), "-m", strconv.Itoa(l.streams), "-D", strconv.Itoa(httpSeconds), "-H", tag, url}
	})
	if err != nil {
		return 0, err
	}
	return h2loadRate(out)
}

var (
	h2loadFinished = regexp.MustCompile(`(?m)^finished in [0-9.]+m?s, ([0-9.]+) req/s,`)
	h2loadRequests = regexp.MustCompile(`(?m)^requests: .*, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout$`)
)

// h2loadRate reads the requests per second from the output of h2load.
func h2loadRate(out string) (float64, error) {
	finished, requests := h2loadFinished.FindStringSubmatch(out), h2loadRequests.FindStringSubmatch(out)
	if finished == nil || requests == nil {
		return 0, fmt.Errorf("the output of h2load has no rate: %.200q", out)
	}
	if requests[1] == "0" || requests[2] != "0" || requests[3] != "0" || requests[4] != "0" {
		return 0, fmt.Errorf("h2load had errors: %s", requests[0])
	}
	return strconv.ParseFloat(finished[1], 64)
}
