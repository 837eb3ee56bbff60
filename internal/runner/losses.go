package runner

import (
	"tare/internal/observe/losses"
	"tare/internal/runner/evidence"
	"tare/internal/traffic"
)

// accounts are what the ends of all pairs say of their datagrams, or why not all do.
func (l *lane) accounts() (all []evidence.Account, unknown string) {
	if l.search != nil && l.search.broken {
		return nil, "a step of the search failed, and what it carried nobody knows: nothing was booked"
	}
	for _, p := range l.pairs {
		client, server, ok := accounts(p, l.Workload.Kind)
		if !ok {
			return nil, "what made the traffic does not tell how many datagrams were sent or received: nothing was booked"
		}
		all = append(all, evidence.Account{Client: client, Server: server})
	}
	return all, ""
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
