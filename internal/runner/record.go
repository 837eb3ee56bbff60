package runner

import (
	"slices"

	"tare/internal/observe/losses"
	"tare/internal/result"
	"tare/internal/runner/evidence"
	"tare/internal/traffic"
	"tare/internal/warning"
)

// end is the record of one endpoint: what it reports, and what only both endpoints together tell of its datagrams.
// other is the report of its peer.
func end(rep, other traffic.Report) result.End {
	e := rep.End
	// An endpoint is foreign: what cannot be is unknown.
	if e.CPU != nil && *e.CPU < 0 {
		e.CPU = nil
	}
	if e.RTT != nil && *e.RTT <= 0 {
		e.RTT = nil
	}
	if e.OwnTime != nil && !(*e.OwnTime > 0 && *e.OwnTime < 1) {
		e.OwnTime = nil
	}
	if rep.Datagrams == nil {
		return e
	}
	// A copy: the record is kept to the end of the run, and a pointer into the report would keep the
	// report, too, with its histograms of 50 kB each.
	d, all := rep.Datagrams.Datagrams, rep.Datagrams.Total()
	if all.Sent > 0 || rep.Tool == nil { // a tool that reports none may have counted none
		d.Sent = &all.Sent
	}
	if all.Received > 0 || rep.Tool == nil {
		d.Received = &all.Received
	}
	if sent := other.Datagrams.Total().SentCounted; sent > 0 {
		lost := sent - all.ReceivedCounted - traffic.Count(d.Late)
		d.Lost = &lost
	}
	if slots, missed := rep.Window.Slots, rep.Window.Missed; slots > 0 {
		d.Slots, d.MissedSlots = &slots, &missed
	}
	e.Datagrams = &d
	return e
}

// limited is the share of the schedule that the generator missed at both endpoints
// together, nil without a schedule.
func limited(client, server traffic.Report) *float64 {
	slots := client.Window.Slots + server.Window.Slots
	if slots == 0 {
		return nil
	}
	share := float64(client.Window.Missed+server.Window.Missed) / float64(slots)
	return &share
}

// notes are those of both endpoints without duplicates.
func notes(client, server traffic.Report) []result.Note {
	var out []result.Note
	for _, n := range slices.Concat(client.Notes, server.Notes) {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// foreignTraffic returns a note if connections or datagrams of others arrived at the ports of the
// trial, or of the checks of its path before and after it.
func (tr *trialRun) foreignTraffic() []result.Note {
	if foreign := tr.tested.path.Foreign; foreign != nil {
		tr.beside += foreign()
	}
	n := tr.beside
	for _, p := range tr.all() {
		for _, r := range []traffic.Report{p.client, p.server} {
			n += int64(r.Refused)
			if r.Datagrams != nil {
				n += traffic.Count(r.Datagrams.Foreign)
			}
		}
	}
	if n == 0 {
		return nil
	}
	return []result.Note{warning.NewNote(warning.ForeignTraffic,
		"connections or datagrams of others arrived at the trial's ports: %d. They were refused and are in no count, but took CPU time and bandwidth", warning.Said(n))}
}

// toolOf is the tool that generated the traffic, nil for the built-in generator.
func toolOf(client, server traffic.Report) *result.Tool {
	if client.Tool == nil && server.Tool == nil {
		return nil
	}
	var t result.Tool
	for _, e := range []struct {
		run *traffic.ToolRun
		at  *result.ToolEnd
	}{{client.Tool, &t.Client}, {server.Tool, &t.Server}} {
		if e.run != nil {
			t.Name, *e.at = e.run.Name, e.run.ToolEnd
		}
	}
	return &t
}

// direction is one direction of the payload, with its sender.
type direction struct {
	sender   string // client or server
	from, to traffic.Report
}

// directions are the directions in which a trial's payload flows.
func directions(p traffic.Params, client, server traffic.Report) []direction {
	forward, reverse := direction{"client", client, server}, direction{"server", server, client}
	switch {
	case p.Both():
		return []direction{forward, reverse}
	case p.Reverse():
		return []direction{reverse}
	}
	return []direction{forward}
}

// tcpLimits returns, for each sender of a trial, what limited its TCP: mean shares over
// its streams, pairs and slices. It leaves out a sender without data.
func tcpLimits(p traffic.Params, client, server traffic.Report) (out []result.TCPLimits) {
	for _, w := range directions(p, client, server) {
		l := w.from.Window.Limits
		if l == nil || l.Seconds <= 0 {
			continue
		}
		share := func(seconds float64) *float64 { v := seconds / l.Seconds; return &v }
		out = append(out, result.TCPLimits{
			Sender: w.sender, Application: share(l.Application), ReceiveWindow: share(l.ReceiveWindow), SendBuffer: share(l.SendBuffer), Network: share(l.Network),
		})
	}
	return out
}

// senders records what limited the senders of a TCP workload, and why they retransmitted.
func (tr *trialRun) senders() {
	if !tr.observed.Counted() || evidence.OverUDP(tr.Workload) || tr.load != nil { // the stacks count the load's segments, too
		return
	}
	first := tr.pairs[0].clientSide
	tr.out.Limits = tcpLimits(first, tr.client, tr.server)
	for _, w := range directions(first, tr.client, tr.server) {
		causes := tr.observed.Retransmits(len(tr.pairs), w.sender)
		if causes == nil {
			continue
		}
		known := false
		for i := range tr.out.Limits {
			if tr.out.Limits[i].Sender == w.sender {
				tr.out.Limits[i].Retransmits, known = causes, true
			}
		}
		if !known {
			tr.out.Limits = append(tr.out.Limits, result.TCPLimits{Sender: w.sender, Retransmits: causes})
		}
	}
}

// accounts are the datagram counts of both endpoints of all pairs, or why they are
// incomplete.
func (tr *trialRun) accounts() (all []evidence.Account, unknown string) {
	if tr.search != nil && tr.search.broken {
		return nil, "losses are not attributed: a step of the search failed, and its number of datagrams is unknown"
	}
	for _, p := range tr.pairs {
		client, server, ok := accounts(p, tr.exchanges())
		if !ok {
			return nil, "losses are not attributed: the generator does not report how many datagrams it sent or received"
		}
		all = append(all, evidence.Account{Client: client, Server: server})
	}
	return all, ""
}

// accounts are the datagram counts of both endpoints of a pair over the whole trial. For
// a tool only the lost datagrams may be known.
func accounts(p *pair, exchanges bool) (client, server losses.SocketTotals, ok bool) {
	if p.client.Datagrams == nil || p.server.Datagrams == nil {
		return client, server, false
	}
	client, server = accountOf(p.client, exchanges), accountOf(p.server, exchanges)
	if p.client.Tool == nil && p.server.Tool == nil {
		return client, server, true
	}
	from, to := &client, &server
	if p.clientSide.Reverse() {
		from, to = to, from
	}
	for _, run := range []*traffic.ToolRun{p.client.Tool, p.server.Tool} {
		if run != nil && run.Lost != nil {
			to.Received = from.Sent - *run.Lost
		}
	}
	return client, server, from.Sent > 0 && to.Received > 0
}

// accountOf is the datagram count of one endpoint. A response that arrived too
// late counts as received.
func accountOf(r traffic.Report, exchanges bool) losses.SocketTotals {
	d, all := r.Datagrams, r.Datagrams.Total()
	e := losses.SocketTotals{Sent: all.Sent, Received: all.Received, Drops: d.SocketDrops, Denied: d.Denied, Unread: d.Unread}
	if exchanges {
		e.Received += traffic.Count(d.Late)
	}
	e.SendsSuper, e.ReceivesSuper = d.Offload && e.Sent > 0, d.Offload && e.Received > 0
	return e
}
