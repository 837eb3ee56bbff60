package runner

import (
	"tare/internal/result"
	"tare/internal/traffic"
)

// way is one direction of payload, with its sender.
type way struct {
	sender   string // client or server
	from, to traffic.Report
}

// ways are the directions in which a trial's payload flows.
func ways(p traffic.Params, client, server traffic.Report) []way {
	forward, reverse := way{"client", client, server}, way{"server", server, client}
	switch {
	case p.Both:
		return []way{forward, reverse}
	case p.Reverse:
		return []way{reverse}
	}
	return []way{forward}
}

// limitsOf says of each sender of a trial who kept its TCP from being faster: mean
// shares over its streams, pairs and slices. A sender of which nothing is known is
// left out.
func limitsOf(p traffic.Params, client, server traffic.Report) (out []result.TCPLimits) {
	for _, w := range ways(p, client, server) {
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
