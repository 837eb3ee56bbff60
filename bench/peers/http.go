package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tare/bench/harness"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/http1"
	"tare/internal/unit"
)

// httpSeconds is the length of a run: wrk takes whole seconds only.
const httpSeconds = 1

// httpLoad is a load of HTTP requests without bodies.
type httpLoad struct {
	flows    int
	response int
	at       cpuPlacement
}

// HTTP compares the client of http with wrk: both ask tare's server, over connections that stay open.
func HTTP(ctx context.Context, b harness.Options) error {
	title := fmt.Sprintf("http and wrk: GET over open connections from tare's server, median of %d interleaved pairs of %d s", b.Pairs, httpSeconds)
	return onTestbed(ctx, b, title, []string{"wrk"}, func(ctx context.Context, s *testbed) error {
		all := s.placements()
		one, two := all[0], all[len(all)-1]
		columns()
		for _, l := range []httpLoad{{1, 1 << 10, one}, {32, 1 << 10, one}, {32, 16 << 10, one}, {1, 1 << 10, two}, {32, 1 << 10, two}} {
			values, err := interleaved(ctx, b.Pairs, []contestant{
				{"tare", func(ctx context.Context) (float64, error) { return l.tare(ctx, s) }},
				{"wrk", func(ctx context.Context) (float64, error) { return l.wrk(ctx, s) }},
			})
			if err != nil {
				return err
			}
			name := fmt.Sprintf("http, %s, %d B", unit.Count(l.flows, "flow", "flows"), l.response)
			s.print(work{name: name, placement: l.at.name, unit: "k/s", scale: 1e3, ask: ">= 1.0", least: 1}, []string{"tare", "wrk"}, values)
		}
		return nil
	})
}

// params are the parameters of both endpoints, without a warm-up, because wrk has none.
func (l httpLoad) params() traffic.Params {
	return traffic.Params{
		Workload: study.Workload{
			Kind: "http", Streams: l.flows, ResponseSize: quantity.Size(l.response), KeepAlive: study.On,
			SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
		},
		Duration: httpSeconds * time.Second,
	}
}

func (l httpLoad) tare(ctx context.Context, s *testbed) (float64, error) {
	t, err := s.trial(ctx, l.at, l.params())
	if err != nil {
		return 0, err
	}
	return t.metric("transaction_rate")
}

// wrk runs wrk as the client of tare's server, in the place of tare's.
func (l httpLoad) wrk(ctx context.Context, s *testbed) (float64, error) {
	out, err := foreignClient(ctx, s, l.at, l.params(), func(url, tag string) []string {
		return []string{"wrk", "-t", "1", "-c", strconv.Itoa(l.flows), "-d", strconv.Itoa(httpSeconds), "-H", tag, url}
	})
	if err != nil {
		return 0, err
	}
	return wrkRate(out)
}

// foreignClient runs another program as the client of tare's server and returns its output. Command is that of the program, which asks a URL with a
// header field.
func foreignClient(ctx context.Context, s *testbed, at cpuPlacement, p traffic.Params, command func(url, tag string) []string) (out string, err error) {
	ctx, cancel := context.WithTimeout(ctx, runWait)
	defer cancel()
	client, server, err := s.agents(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, client.Close(), server.Close()) }()
	p.Token, p.CPU, p.Address = harness.Token, at.server, net.JoinHostPort(s.target(), "0")
	port, err := server.Listen(ctx, p)
	if err != nil {
		return "", err
	}
	url := "http://" + net.JoinHostPort(s.target(), strconv.Itoa(int(port))) + "/"
	program, err := begin(s.lab.A, at.client, command(url, strings.ToLower(http1.TagField)+": "+http1.RequestTag(p.Token)))
	if err != nil {
		return "", errors.Join(err, server.Abort(ctx))
	}
	if err := program.finish(ctx); err != nil {
		return "", errors.Join(err, server.Abort(ctx))
	}
	if err := server.SendPeerReport(ctx, traffic.Report{}); err != nil {
		return "", err
	}
	report, err := server.Report(ctx)
	if err != nil {
		return "", err
	}
	if report.Refused > 1 { // wrk first tries whether it can connect
		return "", fmt.Errorf("the server refused %d connections of the other program", report.Refused)
	}
	return program.out.String(), nil
}

var (
	wrkRequests = regexp.MustCompile(`(?m)^ *(\d+) requests in ([0-9.]+)s,`)
	wrkErrors   = regexp.MustCompile(`(?m)^ *(Non-2xx or 3xx responses|Socket errors): .*$`)
)

// wrkRate reads the requests per second from the output of wrk.
func wrkRate(out string) (float64, error) {
	if m := wrkErrors.FindString(out); m != "" {
		return 0, fmt.Errorf("wrk had errors: %s", m)
	}
	m := wrkRequests.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("the output of wrk has no number of requests: %.200q", out)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(m[2], 64)
	if err == nil && (seconds <= 0 || n <= 0) {
		err = fmt.Errorf("wrk had %g requests in %g s", n, seconds)
	}
	return n / seconds, err
}
