//go:build linux

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/live"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// spoiled lets a test obstruct a path after its set-up.
type spoiled struct {
	netns.Driver
	spoil func(*lab.Lab) error
}

func (s spoiled) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	p, err := s.Driver.Provision(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.spoil(p.Internal.(interface{ Lab() *lab.Lab }).Lab()); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

// run runs a command in a namespace.
func run(ns *linuxnet.NS, in string, command ...string) error {
	cmd := exec.Command(command[0], command[1:]...)
	var words strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &words, &words
	err := ns.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, words.String())
	}
	return nil
}

// datagrams is a short trial over UDP as fast as possible, in one piece.
func datagrams(change func(*study.Workload)) study.Workload {
	w := study.Workload{
		ID: "udp_stream", Kind: "udp_stream", Flows: 1, PayloadSize: 1000, Rate: quantity.Unlimited, Burst: 64, Offload: study.Off, Fragment: study.Off,
		Direction: study.Forward, Family: study.IPv4, SendBuffer: quantity.Buffer(200_000), ReceiveBuffer: quantity.Buffer(4 << 20), Placement: study.Free,
		Duration: quantity.Duration(300 * time.Millisecond),
	}
	change(&w)
	return w
}

// lose runs one such trial and gives what became of it. It prints where its losses were attributed to.
func lose(t *testing.T, mode string, w study.Workload, change func(*study.Study), spoil func(*lab.Lab) error, on func(live.Event)) result.Trial {
	t.Helper()
	if spoil == nil {
		spoil = func(*lab.Lab) error { return nil }
	}
	_, trials := runStudy(t.Context(), t, spoiled{spoil: spoil}, []string{mode}, func(s *study.Study) {
		s.Workloads = []study.Workload{w}
		if change != nil {
			change(s)
		}
	}, on)
	i := slices.IndexFunc(trials, func(tr result.Trial) bool { return tr.Status == result.TrialOK })
	must.Require(t, i >= 0 && trials[i].Losses != nil, "no trial with an account of its losses: %+v", trials)
	t.Logf("%+v", *trials[i].Losses)
	return trials[i]
}

// diedAt fails the test unless most losses are attributed to one place. What is attributed there
// exactly is tested with recorded counters, in package evidence.
func diedAt(t *testing.T, l result.Losses, place string) {
	t.Helper()
	var there int64
	for _, p := range l.Places {
		if p.Place == place {
			there += p.Count
		}
	}
	must.True(t, l.Lost >= 100 && l.Lost == l.Sent-l.Received && there >= l.Lost/2 && there <= 2*l.Lost, "%d of %d lost datagrams are attributed to %s: %+v", there, l.Lost, place, l)
}

// nft loads rules into a namespace.
func nft(ns *linuxnet.NS, rules string) error { return run(ns, rules, "nft", "-f", "-") }

func needNFT(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("nft"); err != nil {
		testneed.Missing(t, testneed.NFT, err)
	}
}

// Datagrams are lost in five ways, each provoked on a real lab: most losses are attributed to the place
// where they were dropped.
func TestAloneLosses(t *testing.T) {
	t.Run("tiny receive buffer", func(t *testing.T) {
		tr := lose(t, "host", datagrams(func(w *study.Workload) { w.ReceiveBuffer = quantity.Buffer(4096) }), nil, nil, nil)
		diedAt(t, *tr.Losses, result.PlaceReceive)
	})
	t.Run("queue of a rate limit", func(t *testing.T) {
		tr := lose(t, "host", datagrams(func(w *study.Workload) { w.Rate = 100e6 }), func(s *study.Study) { s.Lab.Rate = 10e6 }, nil, nil)
		diedAt(t, *tr.Losses, result.PlaceQdisc)
	})
	t.Run("backlog of a CPU", fullBacklog)
	t.Run("firewall rule", func(t *testing.T) {
		needNFT(t)
		// Half of the payload: one half of that by a rule that counts, the other by one
		// that does not.
		tr := lose(t, "netns/published", datagrams(func(w *study.Workload) { w.Rate = 100e6 }), nil, func(l *lab.Lab) error {
			return nft(l.B.NS, `table inet spoil {
				chain c {
					type filter hook forward priority 10; policy accept;
					meta length > 500 numgen inc mod 4 0 counter drop
					meta length > 500 numgen inc mod 3 0 drop
				}
			}
			`)
		}, nil)
		diedAt(t, *tr.Losses, result.PlaceNetfilter)
	})
	t.Run("DNS queries and answers", func(t *testing.T) {
		needNFT(t)
		// Every eighth query or answer, but no message of the handshake, which begin with
		// "tare" and are repeated. Each one lost holds up its flow.
		tr := lose(t, "netns/published", study.Workload{
			ID: "udp_dns", Kind: "udp_dns", Flows: 200, Family: study.IPv4, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(), Placement: study.Free,
			Duration: quantity.Duration(500 * time.Millisecond),
		}, nil, func(l *lab.Lab) error {
			return nft(l.B.NS, "table inet spoil {\nchain c { type filter hook forward priority 10; policy accept; udp length > 60 @th,64,32 != 0x74617265 numgen inc mod 8 0 counter drop; }\n}\n")
		}, nil)
		diedAt(t, *tr.Losses, result.PlaceNetfilter)
		must.True(t, tr.Metrics["loss_ratio"] > 0 && slices.ContainsFunc(tr.Notes, func(n result.Note) bool { return n.Code == "lost_exchanges" }), "%v, notes %v", tr.Metrics, tr.Notes)
	})
	t.Run("generator that cannot keep up", func(t *testing.T) {
		tr := lose(t, "host", datagrams(func(w *study.Workload) { w.Rate = 100e9 }), nil, nil, nil)
		d := tr.Client.Datagrams
		must.True(t, tr.GeneratorLimited != nil && *tr.GeneratorLimited >= 0.1 && slices.ContainsFunc(tr.Notes, func(n result.Note) bool { return n.Code == "generator_limited" }),
			"a schedule of 12.5 M datagrams/s was kept: limited %v, notes %v", tr.GeneratorLimited, tr.Notes)
		must.True(t, d != nil && d.Slots != nil && *d.Slots-*d.MissedSlots == *d.Sent && tr.Losses.Sent == *d.Sent, "%+v: what was missed counts as sent: %+v", d, tr.Losses)
	})
}

// fullBacklog has another CPU take in what arrives, which long lists of rules keep
// busy: its backlog runs full. That is the machine's, but the device is the lab's own.
func fullBacklog(t *testing.T) {
	if !linuxnet.RealRoot() {
		testneed.Missing(t, testneed.Root, "only it may say which CPU takes packets in")
	}
	needNFT(t)
	if runtime.NumCPU() < 2 {
		testneed.Missing(t, testneed.Other, "a second CPU: one that sends works off its own backlog in between")
	}
	slow := "table inet spoil {\nchain slow {\n" + strings.Repeat("udp dport 1 drop\n", 100) +
		"}\nchain c { type filter hook prerouting priority -400; policy accept;\n" + strings.Repeat("jump slow\n", 150) + "}\n}\n"
	tr := lose(t, "host", datagrams(func(w *study.Workload) {
		// What waits in the backlog counts against its sender's buffer; one flow alone
		// would be held up before that is full.
		w.Placement, w.PayloadSize, w.Flows = study.OneCore, 100, 16
	}), nil, func(l *lab.Lab) error {
		if err := nft(l.B.NS, slow); err != nil {
			return err
		}
		return run(l.B.NS, "", "unshare", "-m", "sh", "-c", "mount -t sysfs none /sys && echo 2 >/sys/class/net/eth0/queues/rx-0/rps_cpus")
	}, nil)
	diedAt(t, *tr.Losses, result.PlaceBacklog)
}
