package runner

import (
	"context"
	"fmt"

	"tare/internal/driver"
	"tare/internal/observe/losses"
	"tare/internal/observe/netstack"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// stackReading is a network stack of a lane's path with what its counters said before
// the trial, and how far they had moved behind it.
type stackReading struct {
	place  driver.NetworkStack
	before netstack.Reading
	moved  netstack.Moved
	kinds  map[string]string
}

// readStacks reads the counters of every network stack of a lane's path. It is done
// before the trial's connections are made, and readAgain does it once they are gone,
// so that nothing of it is timed. Nil where the study wants none of it, or where the
// path cannot be looked into.
func (r *run) readStacks(ctx context.Context, l *lane) []stackReading {
	if r.cfg.Study.Evidence.Counters == study.Off {
		return nil
	}
	var out []stackReading
	for _, p := range l.stage.path.Stacks {
		if p.Read == nil {
			continue
		}
		reading, err := p.Read(ctx)
		reading.Lack("counters", err)
		out = append(out, stackReading{place: p, before: reading})
	}
	return out
}

// readAgain reads them once more and keeps how far they moved.
func (l *lane) readAgain(ctx context.Context) {
	for i := range l.stacks {
		s := &l.stacks[i]
		reading, err := s.place.Read(ctx)
		reading.Lack("counters", err)
		s.moved, s.kinds = reading.Since(s.before), reading.Kinds
	}
}

// bookLosses books what a lane over UDP lost to the places where it died, and adds what
// the kernel itself says of it.
func (l *lane) bookLosses() {
	if len(l.stacks) == 0 || !overUDP(l.Workload) {
		return
	}
	defer l.explain()
	if l.search != nil && l.search.broken {
		l.out.Losses = &result.Losses{Missing: []string{"a step of the search failed, and what it carried nobody knows: nothing was booked"}}
		return
	}
	in := losses.Input{}
	ends := map[string]*losses.End{}
	for i, p := range l.pairs {
		at := l.stage.path.Pairs[i]
		client, server, ok := accounts(p, l.Workload.Kind)
		if !ok {
			l.out.Losses = &result.Losses{Missing: []string{"what made the traffic does not tell how many datagrams were sent or received: nothing was booked"}}
			return
		}
		in.Sent += client.Sent + server.Sent
		in.Received += client.Received + server.Received
		ends[at.Client.Stack] = ends[at.Client.Stack].Plus(client)
		ends[at.Server.Stack] = ends[at.Server.Stack].Plus(server)
	}
	for _, s := range l.stacks {
		in.Stacks = append(in.Stacks, losses.Stack{
			Name: s.place.Name, Boot: s.before.Boot, Moved: s.moved, Kinds: s.kinds, Shared: s.place.Shared, End: ends[s.place.Name],
		})
	}
	booked := losses.Book(in)
	l.out.Losses = &booked
}

// overUDP says whether a workload's traffic is datagrams.
func overUDP(w study.Workload) bool {
	made, err := workloads.Named(w.Kind)
	return err == nil && made.Spec().Datagrams
}

// accounts are what the two ends of a pair say of their datagrams, over the whole
// trial. A tool tells how many it lost at most.
func accounts(p *pair, kind string) (client, server losses.End, ok bool) {
	if p.client.Datagrams == nil || p.server.Datagrams == nil {
		return client, server, false
	}
	client, server = accountOf(p.client, kind), accountOf(p.server, kind)
	if p.client.Tool == nil && p.server.Tool == nil {
		return client, server, true
	}
	from, to := &client, &server
	if p.clientSide.Reverse {
		from, to = to, from
	}
	for _, run := range []*traffic.ToolRun{p.client.Tool, p.server.Tool} {
		if run != nil && run.Lost != nil {
			to.Received = from.Sent - *run.Lost
		}
	}
	return client, server, from.Sent > 0 && to.Received > 0
}

// accountOf is what one end says. A response of udp_rr that came too late did come.
func accountOf(r traffic.Report, kind string) losses.End {
	d, all := r.Datagrams, flows(r.Datagrams)
	e := losses.End{Sent: all.Sent, Received: all.Received, Drops: d.SocketDrops, Denied: d.Denied, Unread: d.Unread}
	if kind == "udp_rr" {
		e.Received += d.Late
	}
	e.SendsSuper, e.TakesSuper = d.Offloaded && e.Sent > 0, d.Offloaded && e.Received > 0
	return e
}

// unexplainedAbove is the share of what was lost of which no counter may know before
// it is told, and unexplainedLeast as many datagrams: a handshake's are no matter.
const (
	unexplainedAbove = 0.01
	unexplainedLeast = 10
)

// unexplained notes with a lane what of its losses nobody has seen.
func (l *lane) unexplained() {
	x := l.out.Losses
	if x == nil || x.Unexplained < unexplainedLeast || float64(x.Unexplained) <= unexplainedAbove*float64(x.Lost) {
		return
	}
	then := "the kernel's own reasons would tell more: evidence drops, which takes root or CAP_BPF and CAP_PERFMON on Linux 5.17 or later"
	if len(x.Reasons) > 0 {
		then = "the kernel's own reasons are with the trial"
	}
	l.out.Notes = append(l.out.Notes, result.Note{Code: "loss_unexplained", Text: fmt.Sprintf(
		"of %d lost datagrams %d (%s) were seen to die by no counter; %s", x.Lost, x.Unexplained, percent(float64(x.Unexplained)/float64(x.Lost)), then)})
}
