//go:build linux

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
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
)

// spoiled lets a test obstruct a path after its set-up.
type spoiled struct {
	netns.Driver
	spoil func(*lab.Lab) error
}

func (s spoiled) Provision(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
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
		ID: "udp_stream", Kind: "udp_stream", Flows: 1, PayloadSize: 1000, Rate: study.Unlimited, Burst: 64, Offload: study.Off, Fragment: study.Off,
		Direction: study.Forward, Family: study.IPv4, SendBuffer: study.Buffer(200_000), ReceiveBuffer: study.Buffer(4 << 20), Placement: study.Free,
		Duration: study.Duration(300 * time.Millisecond),
	}
	change(&w)
	return w
}

// lose runs one such trial and gives what became of it.
func lose(t *testing.T, mode string, w study.Workload, change func(*study.Study), spoil func(*lab.Lab) error, on func(live.Event)) (result.Run, result.Trial) {
	t.Helper()
	if spoil == nil {
		spoil = func(*lab.Lab) error { return nil }
	}
	out, trials, err := runStudy(t, spoiled{spoil: spoil}, []string{mode}, func(s *study.Study) {
		s.Blocks, s.Workloads = 1, []study.Workload{w}
		if change != nil {
			change(s)
		}
	}, on)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(trials, func(tr result.Trial) bool { return tr.Status == result.TrialOK })
	if i < 0 {
		t.Fatalf("no trial went well: %+v", trials)
	}
	if trials[i].Losses == nil {
		t.Fatal("the trial has no account of its losses")
	}
	return out, trials[i]
}

// diedAt fails the test unless 95 % of the losses are attributed to one place, and enough
// were lost for that.
func diedAt(t *testing.T, l result.Losses, places ...string) {
	t.Helper()
	var there int64
	for _, p := range l.Places {
		if slices.Contains(places, p.Place) {
			there += p.Count
		}
	}
	if l.Lost < 100 || l.Lost != l.Sent-l.Received || float64(there) < 0.95*float64(l.Lost) || float64(there) > 1.05*float64(l.Lost) {
		t.Errorf("%d of %d lost datagrams are attributed to %s, want 95 %%: %+v", there, l.Lost, places, l)
	}
}

func needRoot(t *testing.T, why string) {
	t.Helper()
	if !linuxnet.RealRoot() {
		t.Skip("needs the machine's own root: " + why)
	}
}

// nft loads rules into a namespace.
func nft(ns *linuxnet.NS, rules string) error { return run(ns, rules, "nft", "-f", "-") }

func needNFT(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skipf("nft makes the rules that drop: %v", err)
	}
}

// Six ways to lose datagrams, each provoked: the losses are attributed to the place where
// they were dropped.
func TestAloneLossesAreBooked(t *testing.T) {
	t.Run("tiny receive buffer", func(t *testing.T) {
		out, tr := lose(t, "host", datagrams(func(w *study.Workload) { w.ReceiveBuffer = study.Buffer(4096) }), nil, nil, nil)
		diedAt(t, *tr.Losses, result.PlaceReceive)
		if tr.Losses.Unexplained*20 > tr.Losses.Lost {
			t.Errorf("unexplained: %+v", tr.Losses)
		}
		if len(out.Losses) != 1 || out.Losses[0].Lost != tr.Losses.Lost || out.Losses[0].Trials != 1 || len(out.Losses[0].Places) != len(tr.Losses.Places) {
			t.Errorf("the run's sum is %+v, its one trial's %+v", out.Losses, tr.Losses)
		}
	})
	t.Run("queue of a rate limit", func(t *testing.T) {
		_, tr := lose(t, "host", datagrams(func(w *study.Workload) { w.Rate = 100e6 }),
			func(s *study.Study) { s.Lab.Rate = 10e6 }, nil, nil)
		diedAt(t, *tr.Losses, result.PlaceQdisc)
	})
	t.Run("backlog of a CPU", fullBacklog)
	t.Run("full connection tracking", fullTracking)
	t.Run("firewall rule", func(t *testing.T) {
		needNFT(t)
		// Half of the payload: one half of that by a rule that counts, the other by one
		// that does not.
		_, tr := lose(t, "netns/published", datagrams(func(w *study.Workload) { w.Rate = 100e6 }), nil, func(l *lab.Lab) error {
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
		if n := len(tr.Losses.Places); n < 2 || tr.Losses.Places[0].Where != "b" {
			t.Errorf("places %+v, want a rule of b and what vanished there", tr.Losses.Places)
		}
	})
	t.Run("DNS queries and answers", func(t *testing.T) {
		needNFT(t)
		// Every eighth query or answer, but no message of the handshake, which begin with
		// "tare" and are repeated. Each one lost holds up its flow.
		_, tr := lose(t, "netns/published", study.Workload{
			ID: "udp_dns", Kind: "udp_dns", Flows: 200, Family: study.IPv4, SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.AutoBuffer(), Placement: study.Free,
			Duration: study.Duration(500 * time.Millisecond),
		}, nil, func(l *lab.Lab) error {
			return nft(l.B.NS, "table inet spoil {\nchain c { type filter hook forward priority 10; policy accept; udp length > 60 @th,64,32 != 0x74617265 numgen inc mod 8 0 counter drop; }\n}\n")
		}, nil)
		diedAt(t, *tr.Losses, result.PlaceNetfilter)
		if tr.Metrics["loss_ratio"] <= 0 || !slices.ContainsFunc(tr.Notes, func(n result.Note) bool { return n.Code == "lost_exchanges" }) {
			t.Errorf("%v, notes %v", tr.Metrics, tr.Notes)
		}
	})
	t.Run("generator that cannot keep up", func(t *testing.T) {
		_, tr := lose(t, "host", datagrams(func(w *study.Workload) { w.Rate = 100e9 }), nil, nil, nil)
		d := tr.Client.Datagrams
		if tr.GeneratorLimited == nil || *tr.GeneratorLimited < 0.1 || !slices.ContainsFunc(tr.Notes, func(n result.Note) bool { return n.Code == "generator_limited" }) {
			t.Errorf("a schedule of 12.5 M datagrams/s was kept: limited %v, notes %v", tr.GeneratorLimited, tr.Notes)
		}
		if d == nil || d.Slots == nil || *d.Slots-*d.MissedSlots != *d.Sent || tr.Losses.Sent != *d.Sent {
			t.Errorf("%+v: what was missed counts as sent: %+v", d, tr.Losses)
		}
		var attributed int64
		for _, p := range tr.Losses.Places {
			attributed += p.Count
		}
		if off := attributed - tr.Losses.Lost; off*20 > tr.Losses.Lost || -off*20 > tr.Losses.Lost {
			t.Errorf("attributed %d of %d lost: %+v", attributed, tr.Losses.Lost, tr.Losses)
		}
	})
}

// fullBacklog has another CPU take in what arrives, which long lists of rules keep
// busy: its backlog runs full. That is the machine's, but the device is the lab's own.
func fullBacklog(t *testing.T) {
	needRoot(t, "only it may say which CPU takes packets in")
	needNFT(t)
	if runtime.NumCPU() < 2 {
		t.Skip("needs a second CPU: a CPU that sends works off its own backlog in between")
	}
	slow := "table inet spoil {\nchain slow {\n" + strings.Repeat("udp dport 1 drop\n", 100) +
		"}\nchain c { type filter hook prerouting priority -400; policy accept;\n" + strings.Repeat("jump slow\n", 150) + "}\n}\n"
	_, tr := lose(t, "host", datagrams(func(w *study.Workload) {
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

// fullTracking lets two of sixteen flows back into a table of two, once all are under
// way. The size is the whole machine's, and given back as soon as the trial has ended.
func fullTracking(t *testing.T) {
	needRoot(t, "the size of connection tracking is the machine's")
	const size = "/proc/sys/net/netfilter/nf_conntrack_max"
	was, err := os.ReadFile(size)
	if err != nil {
		t.Skipf("no connection tracking here: %v", err)
	}
	set := func(v string) {
		if err := os.WriteFile(size, []byte(v), 0o644); err != nil {
			t.Errorf("set the size of connection tracking: %v", err)
		}
	}
	restore := func() { set(strings.TrimSpace(string(was))) }
	t.Cleanup(restore)
	var host *linuxnet.NS
	filled := make(chan struct{})
	fill := func() {
		defer close(filled)
		for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
			if s, err := host.Stats("eth0"); err != nil || s.RxPackets < 2000 {
				continue
			}
			set("2")
			if err := host.FlushConntrack(); err != nil {
				t.Errorf("empty connection tracking: %v", err)
			}
			return
		}
	}
	w := datagrams(func(w *study.Workload) { w.Flows, w.Rate, w.Duration = 16, 100e6, study.Duration(time.Second) })
	_, tr := lose(t, "netns/published", w, nil, func(l *lab.Lab) error {
		host = l.B.NS
		return nil
	}, func(e live.Event) {
		switch e.(type) {
		case live.TrialStarted:
			go fill()
		case live.TrialEnded:
			<-filled
			restore()
		}
	})
	diedAt(t, *tr.Losses, result.PlaceNetfilter)
	if !slices.ContainsFunc(tr.Losses.Places, func(p result.LossPlace) bool { return p.Counter == "conntrack.drop" && p.Where == "b" }) {
		t.Errorf("places %+v, want connection tracking of b", tr.Losses.Places)
	}
	if now, err := os.ReadFile(size); err != nil || strings.TrimSpace(string(now)) != strings.TrimSpace(string(was)) {
		t.Errorf("the size of connection tracking is %s, was %s (%v)", strconv.Quote(string(now)), was, err)
	}
}
