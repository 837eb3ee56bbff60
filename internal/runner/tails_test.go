//go:build linux

package runner_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tare/internal/lab"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// On one path a request is lost every two seconds, which TCP sends again after one. Requests of the tail pass that are due
// meanwhile wait: the 99.9th percentile is that second, less a few thousandths. Load can lengthen it, up to all of a trial, but not shorten it.
// Without the pass the percentile of the closed loop has no verdict, and says why.
func TestTailPassOnALab(t *testing.T) {
	needNFT(t)
	testneed.NotShort(t)
	const waits = "net/ipv4/tcp_rto_min_us"
	if _, err := os.Stat("/proc/sys/" + waits); err != nil {
		testneed.Missing(t, testneed.Other, "a kernel with "+waits+" (Linux 6.11)")
	}
	for _, tails := range []string{study.Off, study.On} {
		t.Run(tails, func(t *testing.T) {
			t.Parallel()
			var published *lab.Lab
			ctx, end := context.WithCancel(t.Context())
			defer end()
			var measured atomic.Int32
			run, trials := runStudy(ctx, t, spoiled{spoil: func(l *lab.Lab) error {
				if strings.Contains(l.Spec.Label, "published") {
					published = l
				}
				return nil
			}}, []string{"host", "netns/published"}, func(s *study.Study) {
				s.Workloads, s.Blocks, s.Tails = []study.Workload{exchanges("tcp_rr")}, 3, tails
				s.Workloads[0].RequestSize, s.Workloads[0].Placement = 200, study.Free
			}, func(e live.Event) {
				over, ok := e.(live.TrialEnded)
				switch {
				case !ok:
				case over.Trial.TailRate > 0: // one round is enough
					if measured.Add(1) == 2 {
						end()
					}
				case over.Trial.Block == 3 && over.Trial.Mode == "host" && tails == study.On:
					// Only a request is as long as 252 bytes.
					err := errors.Join(published.A.NS.Sysctl(waits, "1000000"), nft(published.B.NS,
						"table inet spoil {\nchain c { type filter hook forward priority 10; policy accept; meta length 252 limit rate 30/minute burst 1 packets drop; }\n}\n"))
					must.True(t, err == nil, "%v", err)
				}
			})
			at := slices.IndexFunc(run.Cells, func(c result.Cell) bool { return c.Metric == "rtt_p999" && c.Mode == "netns/published" })
			must.Require(t, at >= 0, "no 99.9th percentile: %+v", run.Cells)
			c := run.Cells[at]
			if tails == study.Off {
				must.True(t, c.Value != nil && c.Verdict == "" && c.Ratio == nil && c.Tail == nil, "without the pass: %+v", c)
				must.Contain(t, c.Unjudged, "it needs the tail pass (--tails)")
				return
			}
			longest := 0.0
			for _, tr := range trials {
				longest = max(longest, tr.Elapsed)
			}
			must.True(t, c.Tail != nil && c.Tail.Rate > 0 && c.Tail.Exchanges != 0 && c.Value != nil && *c.Value >= 0.97 && *c.Value <= longest,
				"with the pass: %+v, value %v, %+v", c, c.Value, c.Tail)
		})
	}
}
