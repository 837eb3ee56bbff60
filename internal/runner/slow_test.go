//go:build linux

package runner_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// bulk is a study of a bulk transfer in slices, with a small buffer, so that a slow path holds little, and long for ends that get no CPU.
func bulk(change func(*study.Study)) func(*study.Study) {
	return func(s *study.Study) {
		s.Workloads = []study.Workload{{
			ID: "tcp_stream", Kind: "tcp_stream", Streams: 1, WriteSize: 16 << 10, Direction: study.Forward, Family: study.IPv4, Congestion: "cubic",
			SendBuffer: quantity.Buffer(128 << 10), ReceiveBuffer: quantity.Buffer(1 << 20), Placement: study.Free, Rate: quantity.Unlimited,
			Warmup: quantity.WaitOf(50 * time.Millisecond), Duration: quantity.Duration(2 * time.Second), Slice: quantity.Duration(50 * time.Millisecond),
		}}
		if change != nil {
			change(s)
		}
	}
}

// reasons are those of the trials that are not valid.
func reasons(trials []result.Trial) (all string) {
	for _, tr := range trials {
		if tr.Status != result.TrialOK {
			all += tr.Mode + ": " + tr.Reason + "\n"
		}
	}
	return all
}

// carries is the goodput of a link of that rate: of each frame, the payload.
func carries(rate float64) float64 { return rate * (lab.DefaultMTU - 52) / (lab.DefaultMTU + 14) }

// sustains reports whether the goodput of a trial in one piece is that of a link of that rate. Ends that get no CPU carry less, and a
// receiver may read in the window what came since the connection began, but nothing more.
func sustains(tr result.Trial, rate float64) bool {
	goodput := tr.Metrics["goodput"]
	return goodput*tr.Window < 1.03*carries(rate)*(tr.Warmup+tr.Window) && goodput > carries(rate)/4
}

// A slow link is measured at its own rate, whatever the buffers hold, by modes in one piece.
func TestFaultsSlowLink(t *testing.T) {
	t.Parallel()
	const rate = 10e6
	_, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"host", "netns/bridge"}, bulk(func(s *study.Study) { s.Lab.Rate = rate }), nil)
	for _, mode := range []string{"host", "netns/bridge"} {
		if last := lastOf(trials, mode); !sustains(last, rate) {
			t.Errorf("%s: %+v, want %.4g\n%s", mode, last, carries(rate), reasons(trials))
		}
	}
	must.ContainFor(t, "no trial in slices was repeated in one piece", reasons(trials), "repeated in one piece")
}

// Behind a bucket of which a trial in slices never sees the end, the sustained rate is measured, and the shaper
// named. The mode beside it stays in slices.
func TestBurstIsNotGoodput(t *testing.T) {
	t.Parallel()
	const rate = 20e6
	for kind, commands := range map[string][]string{
		"tbf": {"qdisc replace dev eth0 root tbf rate 20mbit burst 64mb limit 128kb"},
		"htb": {"qdisc replace dev eth0 root handle 1: htb default 10", "class add dev eth0 parent 1: classid 1:1 htb rate 100mbit",
			"class add dev eth0 parent 1:1 classid 1:10 htb rate 20mbit ceil 20mbit burst 64mb cburst 64mb"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			shape := func(l *lab.Lab) (err error) {
				for _, c := range commands {
					if strings.Contains(l.Spec.Label, "bridge") {
						err = errors.Join(err, run(l.A.NS, "", append([]string{"tc"}, strings.Fields(c)...)...))
					}
				}
				return err
			}
			made, trials := runStudy(t.Context(), t, spoiled{spoil: shape}, []string{"host", "netns/bridge"}, bulk(nil), nil)
			last := lastOf(trials, "netns/bridge")
			if !sustains(last, rate) {
				t.Errorf("%+v, want %.4g\n%s", last, carries(rate), reasons(trials))
			}
			if last.Held == 0 || !slices.ContainsFunc(last.Notes, func(n result.Note) bool {
				return strings.Contains(n.Text, "the shaper "+kind+" on "+lab.Underlay+" of a lets 20.0 Mbit/s pass, and after a pause 67")
			}) {
				t.Errorf("held %g, notes %v", last.Held, last.Notes)
			}
			// On a busy machine its own path may have seemed slow.
			if host := lastOf(trials, "host"); (host.Held != 0 || host.Warmup != 0.05) && !strings.Contains(reasons(trials), "host: its path holds ") {
				t.Errorf("the host's trial: held %g, warm-up %g s\n%s", host.Held, host.Warmup, reasons(trials))
			}
			if n := len(made.Lengths); n == 0 || made.Lengths[n-1].Mode != "netns/bridge" || made.Lengths[n-1].Held != last.Held {
				t.Errorf("lengths %+v", made.Lengths)
			}
		})
	}
}

func lastOf(trials []result.Trial, mode string) (last result.Trial) {
	for _, tr := range trials {
		if tr.Mode == mode {
			last = tr
		}
	}
	return last
}
