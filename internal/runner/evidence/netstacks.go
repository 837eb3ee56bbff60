package evidence

import (
	"context"
	"fmt"
	"strings"

	"tare/internal/driver"
	"tare/internal/observe/losses"
	"tare/internal/observe/netstack"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic/workloads"
	"tare/internal/warning"
)

// stackReading is a network stack of a trial's path with what its counters said before
// the trial, and how far they had moved behind it.
type stackReading struct {
	place  driver.NetworkStack
	before netstack.Reading
	moved  netstack.Deltas
	kinds  map[string]string
}

// ReadStacksBefore reads the counters of every network stack of a trial's path. It is done
// before the trial's connections are made, and ReadStacksAfter does it once they are gone,
// so that nothing of it is timed. None are read where the study wants none of it, or
// where the path cannot be looked into.
func (t *Trial) ReadStacksBefore(ctx context.Context) {
	t.stacks = nil
	if !t.Counted() {
		return
	}
	for _, p := range t.Mode.Path().Stacks {
		if p.Read == nil {
			continue
		}
		reading, err := p.Read(ctx)
		reading.AddGap("counters", err)
		t.stacks = append(t.stacks, stackReading{place: p, before: reading})
	}
}

// ReadStacksAfter reads them once more and keeps how far they moved.
func (t *Trial) ReadStacksAfter(ctx context.Context) {
	for i := range t.stacks {
		s := &t.stacks[i]
		reading, err := s.place.Read(ctx)
		reading.AddGap("counters", err)
		s.moved, s.kinds = reading.Since(s.before), reading.Kinds
	}
}

// Account is what the two ends of a pair say of their datagrams over a whole trial.
type Account struct{ Client, Server losses.SocketTotals }

// AttributeLosses books what a trial over UDP lost to the places where it died, by the
// accounts of its pairs, and adds what the kernel itself says of it. Where there are no
// accounts, unknown says why.
func (t *Trial) AttributeLosses(accounts []Account, unknown string) {
	if len(t.stacks) == 0 || !OverUDP(t.Planned.Workload) {
		return
	}
	defer t.explain()
	if unknown != "" {
		t.Record.Losses = &result.Losses{Missing: []string{unknown}}
		return
	}
	in := losses.Input{}
	ends := map[string]*losses.SocketTotals{}
	for i, a := range accounts {
		at := t.Mode.Path().Pairs[i]
		in.Sent += a.Client.Sent + a.Server.Sent
		in.Received += a.Client.Received + a.Server.Received
		ends[at.Client.Stack] = ends[at.Client.Stack].Add(a.Client)
		ends[at.Server.Stack] = ends[at.Server.Stack].Add(a.Server)
	}
	for _, s := range t.stacks {
		in.Stacks = append(in.Stacks, losses.Stack{
			Name: s.place.Name, Boot: s.before.Boot, Deltas: s.moved, Kinds: s.kinds, Shared: s.place.Shared, Sockets: ends[s.place.Name],
		})
	}
	booked := losses.Attribute(in)
	t.Record.Losses = &booked
}

// OverUDP says whether a workload's traffic is datagrams.
func OverUDP(w study.Workload) bool {
	made, err := workloads.Named(w.Kind)
	return err == nil && made.Spec().Datagrams
}

// unexplainedAbove is the share of what was lost of which no counter may know before
// it is told, and unexplainedLeast as many datagrams: a handshake's are no matter.
const (
	unexplainedAbove = 0.01
	unexplainedLeast = 10
)

// NoteUnexplained notes with a trial what of its losses nobody has seen.
func (t *Trial) NoteUnexplained() {
	x := t.Record.Losses
	if x == nil || x.Unexplained < unexplainedLeast || float64(x.Unexplained) <= unexplainedAbove*float64(x.Lost) {
		return
	}
	then := "turn on the kernel's drop reasons with evidence: {drops: on}, as root or with CAP_BPF and CAP_PERFMON, on Linux 5.17 or later"
	if len(x.Reasons) > 0 {
		then = "the trial has the kernel's drop reasons"
	}
	t.Record.Notes = append(t.Record.Notes, result.Note{Code: string(warning.LossUnexplained), Text: fmt.Sprintf(
		"no counter shows where %d of %d lost datagrams (%.3g %%) were dropped; %s", x.Unexplained, x.Lost, 100*(float64(x.Unexplained)/float64(x.Lost)), then)})
}

// What the kernel of an end's network stack counted of TCP meanwhile. It knows two
// things that reports do not: why segments were sent again, and, of an external tool,
// how many there were at all.

// stackOf is the network stack of one end of a pair.
func (t *Trial) stackOf(pair int, end string) string {
	at := t.Mode.Path().Pairs[pair]
	if end == "server" {
		return at.Server.Stack
	}
	return at.Client.Stack
}

// TCPMoved is how far the counters of TCP moved in the network stack of one end of a
// pair, client or server; nil where they were not read, or where others have traffic,
// too.
func (t *Trial) TCPMoved(pair int, end string) map[string]uint64 {
	return t.tcpMoved(t.stackOf(pair, end))
}

func (t *Trial) tcpMoved(place string) map[string]uint64 {
	for _, s := range t.stacks {
		if s.place.Name != place || s.place.Shared {
			continue
		}
		var out map[string]uint64
		for name, n := range s.moved.Counters {
			if strings.HasPrefix(name, "Tcp.") || strings.HasPrefix(name, "TcpExt.") {
				if out == nil {
					out = map[string]uint64{}
				}
				out[name] = n
			}
		}
		return out
	}
	return nil
}

// Retransmits books what the senders of so many pairs at one end sent again; nil where not all
// of their stacks tell. A stack that several of them share is counted once.
func (t *Trial) Retransmits(pairs int, end string) map[string]int64 {
	seen, sum := map[string]bool{}, map[string]int64{}
	for i := range pairs {
		at := t.stackOf(i, end)
		if seen[at] {
			continue
		}
		seen[at] = true
		causes := retransmitCauses(t.tcpMoved(at))
		if causes == nil {
			return nil
		}
		for cause, n := range causes {
			sum[cause] += n
		}
	}
	return sum
}

// ReadConntrack notes how full the connection tracking of the path is as a trial ends that
// went well, where the study wants counters. What cannot be read is left out: the loss
// that it would explain has other signs.
func (t *Trial) ReadConntrack(ctx context.Context) {
	path := t.Mode.Path()
	if t.Failed() || !t.Counted() || path == nil {
		return
	}
	var most float64
	known := false
	for _, stack := range path.Stacks {
		if stack.ReadTracked == nil {
			continue
		}
		is, tracks, err := stack.ReadTracked(ctx)
		if err != nil {
			return
		}
		if known = known || tracks; tracks && is.Max > 0 {
			most = max(most, float64(is.Count)/float64(is.Max))
		}
	}
	if !known {
		return
	}
	t.figure(result.MachineTracked, most)
}
