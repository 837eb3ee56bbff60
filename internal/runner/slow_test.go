//go:build linux

package runner_test

import (
	"errors"
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

// bulk is a study of a bulk transfer in slices, with a small buffer, so that a slow path holds little.
func bulk(change func(*study.Study)) func(*study.Study) {
	return func(s *study.Study) {
		s.Workloads = []study.Workload{{
			ID: "tcp_stream", Kind: "tcp_stream", Streams: 1, WriteSize: 16 << 10, Direction: study.Forward, Family: study.IPv4, Congestion: "cubic",
			SendBuffer: quantity.Buffer(128 << 10), ReceiveBuffer: quantity.Buffer(1 << 20), Placement: study.Free, Rate: quantity.Unlimited,
			Warmup: quantity.WaitOf(50 * time.Millisecond), Duration: quantity.Duration(400 * time.Millisecond), Slice: quantity.Duration(50 * time.Millisecond),
		}}
		if change != nil {
			change(s)
		}
	}
}

// goodputs are the goodputs of the valid trials of each mode, and the reasons of the others.
func goodputs(trials []result.Trial) (values map[string]float64, reasons string) {
	values = map[string]float64{}
	for _, tr := range trials {
		if tr.Status == result.TrialOK {
			values[tr.Mode] = tr.Metrics["goodput"]
		} else {
			reasons += tr.Mode + ": " + tr.Reason + "\n"
		}
	}
	return values, reasons
}

// carries is the goodput of a link of that rate: of each frame, the payload.
func carries(rate float64) float64 { return rate * (lab.DefaultMTU - 52) / (lab.DefaultMTU + 14) }

// sustains reports whether a goodput is that of a link of that rate. Ends that get no CPU carry less, but nothing more.
func sustains(goodput, rate float64) bool {
	return goodput < 1.03*carries(rate) && goodput > 0.5*carries(rate)
}

// A slow link is measured at its own rate, whatever the buffers hold, by modes in one piece.
func TestFaultsSlowLink(t *testing.T) {
	t.Parallel()
	const rate = 10e6
	_, trials := runStudy(t.Context(), t, netns.Driver{}, []string{"host", "netns/bridge"}, bulk(func(s *study.Study) { s.Lab.Rate = rate }), nil)
	values, reasons := goodputs(trials)
	for _, mode := range []string{"host", "netns/bridge"} {
		if got := values[mode]; !sustains(got, rate) {
			t.Errorf("%s: %.4g bit/s, want %.4g\n%s", mode, got, carries(rate), reasons)
		}
	}
	must.ContainFor(t, "no trial in slices was repeated in one piece", reasons, "repeated in one piece")
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
			// What the receiver holds back until a lost packet has come again is at most 2.6 % of such a window.
			long := bulk(func(s *study.Study) { s.Workloads[0].Duration = quantity.Duration(2 * time.Second) })
			made, trials := runStudy(t.Context(), t, spoiled{spoil: shape}, []string{"host", "netns/bridge"}, long, nil)
			values, reasons := goodputs(trials)
			if got := values["netns/bridge"]; !sustains(got, rate) {
				t.Errorf("%.4g bit/s, want %.4g\n%s", got, carries(rate), reasons)
			}
			last := lastOf(trials, "netns/bridge")
			if last.Held == 0 || len(last.Notes) != 1 || !strings.Contains(last.Notes[0].Text, "the shaper "+kind+" on "+lab.Underlay+" of a lets 20.0 Mbit/s pass, and after a pause 67") {
				t.Errorf("held %g, notes %v", last.Held, last.Notes)
			}
			if host := lastOf(trials, "host"); host.Held != 0 || host.Warmup != 0.05 {
				t.Errorf("the host's trial: held %g, warm-up %g s", host.Held, host.Warmup)
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
