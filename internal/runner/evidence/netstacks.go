package evidence

import (
	"context"
	"strings"

	"tare/internal/driver"
	"tare/internal/observe/losses"
	"tare/internal/observe/netstack"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic/workloads"
	"tare/internal/warning"
)

// stackReading is a network stack of a trial's path with its counters before the trial
// and their increments.
type stackReading struct {
	place  driver.NetworkStack
	before netstack.Reading
	after  netstack.Reading
	moved  netstack.Deltas
	kinds  map[string]string
}

// ReadStacksBefore reads the counters of every network stack of a trial's path before its
// connections are opened; ReadStacksAfter reads them after they are closed, so that
// neither falls into the timed window. It reads none if the study does not ask for them
// or if the path cannot be read.
func (t *Trial) ReadStacksBefore(ctx context.Context) {
	t.stacks, t.readAfter = nil, false
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

// ReadStacksAfter reads the counters again and keeps the increments.
func (t *Trial) ReadStacksAfter(ctx context.Context) {
	for i := range t.stacks {
		s := &t.stacks[i]
		reading, err := s.place.Read(ctx)
		reading.AddGap("counters", err)
		s.after, s.moved, s.kinds = reading, reading.Since(s.before), reading.Kinds
	}
	t.readAfter = true
}

// Shaper is the slowest token bucket that at least half of the given bytes have passed, with the network stack
// that it is in and the bytes that passed it, headers and what others sent included; nil if none is known.
func (t *Trial) Shaper(bytes int64) (slowest *netstack.Shaper, in string, passed uint64) {
	for _, s := range t.stacks {
		for _, b := range s.before.Shapers {
			n := s.moved.Counters[b.Passed()]
			if 2*n >= uint64(max(1, bytes)) && (slowest == nil || b.Rate < slowest.Rate) {
				slowest, in, passed = &b, s.place.Name, n
			}
		}
	}
	return slowest, in, passed
}

// Account is the datagram counts of both endpoints of a pair over a whole trial.
type Account struct{ Client, Server losses.SocketTotals }

// AttributeLosses attributes the losses of a UDP trial to the places where they were
// dropped, from the counts of its pairs, and adds the kernel's drop reasons. If there are
// no counts, unknown says why.
func (t *Trial) AttributeLosses(accounts []Account, unknown string) {
	if len(t.stacks) == 0 || !OverUDP(t.Planned.Workload) {
		return
	}
	defer t.addDropReasons()
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
		in.Stacks = append(in.Stacks, s.lossStack(ends[s.place.Name]))
	}
	attributed := losses.Attribute(in)
	t.Record.Losses = &attributed
}

// lossStack is the stack as package losses takes it, with the totals of the trial's sockets in it.
func (s stackReading) lossStack(sockets *losses.SocketTotals) losses.Stack {
	return losses.Stack{Name: s.place.Name, Boot: s.before.Boot, Deltas: s.moved, Kinds: s.kinds, Shared: s.place.Shared, Sockets: sockets}
}

// OverUDP reports whether a workload sends datagrams.
func OverUDP(w study.Workload) bool {
	made, err := workloads.Named(w.Kind)
	return err == nil && made.Spec().Datagrams
}

// unexplainedAbove and unexplainedLeast are the share of losses and the number of
// datagrams that no counter explains from which a warning is given. Fewer, such as those
// of a handshake, do not matter.
const (
	unexplainedAbove = 0.01
	minUnexplained   = 10
)

// NoteUnexplained adds a note about losses that no counter explains.
func (t *Trial) NoteUnexplained() {
	x := t.Record.Losses
	if x == nil || x.Unexplained < minUnexplained || float64(x.Unexplained) <= unexplainedAbove*float64(x.Lost) {
		return
	}
	then := "turn on the kernel's drop reasons with evidence: {drops: on}, as root or with CAP_BPF and CAP_PERFMON, on Linux 5.17 or later"
	if len(x.Reasons) > 0 {
		then = "the trial has the kernel's drop reasons"
	}
	t.Record.Notes = append(t.Record.Notes, warning.NewNote(warning.LossUnexplained,
		"no counter shows where %d of %d lost datagrams (%.3g %%) were dropped; %s", x.Unexplained, x.Lost, warning.Said(100*(float64(x.Unexplained)/float64(x.Lost))), then))
}

// The TCP counters of an endpoint's network stack add two things to the reports: why
// segments were retransmitted and, for an external tool, how many there were.

// stackOf is the network stack of one endpoint of a pair.
func (t *Trial) stackOf(pair int, end string) string {
	at := t.Mode.Path().Pairs[pair]
	if end == "server" {
		return at.Server.Stack
	}
	return at.Client.Stack
}

// TCPMoved returns the increments of the TCP counters in the network stack of one
// endpoint of a pair, client or server; nil if they were not read, or if others have
// traffic in it.
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

// Retransmits attributes the retransmissions of the senders of the given number of pairs
// at one end to their causes; nil if a stack does not count them. A stack that several
// senders share counts once.
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

// ReadConntrack records how full connection tracking on the path is at the end of a
// successful trial, if the study asks for counters. It ignores errors: the loss that a
// full table causes has other signs.
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
	t.setMachine(result.MachineTracked, most)
}
