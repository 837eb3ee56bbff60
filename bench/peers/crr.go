package peers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"tare/bench/harness"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
)

// crrSeconds is short, because each connection that ends with a FIN occupies a port of
// the client for a minute.
const crrSeconds = 0.6

// crr is a variant of connect, request, response.
type crr struct {
	name  string
	flows int
	reset bool
	at    cpuPlacement
}

// CRR compares tcp_crr with a peer in C from this repository. Both its endpoints have one
// thread, and it closes like tare does: the client first.
func CRR(ctx context.Context, b harness.Options) error {
	title := fmt.Sprintf("tcp_crr and a peer in C: 1 byte each way, the client closes, median of %d interleaved pairs of %g s", b.Pairs, crrSeconds)
	return onTestbed(ctx, b, title, []string{"gcc"}, func(ctx context.Context, s *testbed) error {
		dir, err := os.MkdirTemp("", "tare-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		peer := filepath.Join(dir, "crrpeer")
		const source = "bench/peers/crrpeer/crrpeer.c"
		if out, err := exec.CommandContext(ctx, "gcc", "-O2", "-Wall", "-o", peer, source).CombinedOutput(); err != nil {
			return fmt.Errorf("compile %s, to be run from the top of the source tree: %w: %s", source, err, out)
		}
		all := s.placements()
		one, two := all[0], all[len(all)-1]
		columns()
		for _, c := range []crr{
			{"tcp_crr, 1 flow, FIN", 1, false, one},
			{"tcp_crr, 1 flow, RST", 1, true, one},
			{"tcp_crr, 1 flow, FIN", 1, false, two},
			{"tcp_crr, 32 flows, FIN", 32, false, one},
			{"tcp_crr, 32 flows, FIN", 32, false, two},
			{"tcp_crr, 32 flows, RST", 32, true, two},
		} {
			if err := c.against(ctx, b.Pairs, s, peer); err != nil {
				return err
			}
		}
		return nil
	})
}

// against prints the row of a variant. The requirement is a rate, not a ratio.
func (c crr) against(ctx context.Context, n int, s *testbed, peer string) error {
	values, err := interleaved(ctx, n, []contestant{
		{"tare", func(ctx context.Context) (float64, error) { return c.tare(ctx, s) }},
		{"C peer", func(ctx context.Context) (float64, error) { return c.peer(ctx, s, peer) }},
	})
	if err != nil {
		return err
	}
	w := work{name: c.name, placement: c.at.name, unit: "k/s", scale: 1e3, ask: ">= 1.0", least: 1}
	s.print(w, []string{"tare", "C peer"}, values)
	return nil
}

func (c crr) tare(ctx context.Context, s *testbed) (float64, error) {
	end := study.FIN
	if c.reset {
		end = study.RST
	}
	t, err := s.trial(ctx, c.at, traffic.Params{
		Workload: study.Workload{
			Kind: "tcp_crr", Streams: c.flows, RequestSize: 1, ResponseSize: 1, NoDelay: new(true), Close: end,
			SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
		},
		Duration: time.Duration(crrSeconds * float64(time.Second)),
	})
	if err != nil {
		return 0, err
	}
	return t.metric("connection_rate")
}

func (c crr) peer(ctx context.Context, s *testbed, peer string) (float64, error) {
	port := s.nextPort()
	how := "fin"
	if c.reset {
		how = "rst"
	}
	o, err := s.peer(ctx, c.at, peerRun{
		server: []string{peer, "serve", s.target(), strconv.Itoa(port), strconv.Itoa(c.flows)},
		client: []string{peer, "dial", s.target(), strconv.Itoa(port), strconv.Itoa(c.flows), strconv.FormatFloat(crrSeconds, 'f', -1, 64), how},
		proto:  "tcp", port: port,
	})
	if err != nil {
		return 0, err
	}
	v, err := pairsOf(o.client, "connections", "seconds")
	if err != nil {
		return 0, fmt.Errorf("parse the output of crrpeer: %w", err)
	}
	return v["connections"] / v["seconds"], nil
}
