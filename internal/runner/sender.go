package runner

import (
	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/runner/evidence"
	"tare/internal/tool"
	"tare/internal/traffic"
)

// senders records who limited the senders of a TCP workload, and why they sent again.
func (l *lane) senders() {
	if !l.seen.Counted() || evidence.OverUDP(l.Workload) {
		return
	}
	first := l.pairs[0].clientSide
	l.out.Limits = limitsOf(first, l.client, l.server)
	for _, w := range ways(first, l.client, l.server) {
		causes := l.seen.Resent(len(l.pairs), w.sender)
		if causes == nil {
			continue
		}
		known := false
		for i := range l.out.Limits {
			if l.out.Limits[i].Sender == w.sender {
				l.out.Limits[i].Retransmits, known = causes, true
			}
		}
		if !known {
			l.out.Limits = append(l.out.Limits, result.TCPLimits{Sender: w.sender, Retransmits: causes})
		}
	}
}

// What a tool may have sent beyond what it says, as a share and in bytes: what it
// wrote when it had stopped counting, and its control connection.
const (
	toolBeyondShare = 0.02
	toolBeyond      = 256 << 10
)

// held bounds what a tool's TCP can have put on the path by what it says to have sent,
// and not only by what its kernel did: a tool that counts too little is then found out
// as one that counts too much is. Headers leave room for an eighth, as everywhere in a
// proof. Nothing is held where several pairs may share stacks or nobody counted what
// was sent again, nor ntttcp, whose ends count over times of their own.
func (l *lane) held(i int, c driver.Carried) driver.Carried {
	p := l.pairs[i]
	if len(l.pairs) > 1 || p.client.Tool == nil || p.server.Tool == nil || tool.OwnTimes(p.client.Tool.Name) {
		return c
	}
	c.Forward = l.hold(c.Forward, p.client, l.seen.TCPMoved(i, "client"))
	c.Reverse = l.hold(c.Reverse, p.server, l.seen.TCPMoved(i, "server"))
	return c
}

func (l *lane) hold(f driver.Flow, from traffic.Report, moved map[string]uint64) driver.Flow {
	again, known := moved["Tcp.RetransSegs"]
	if f.Datagrams || f.Unbounded || f.Payload == 0 || !known {
		return f
	}
	size := uint64(max(from.TCP.MSS, l.underlay.MTU, 1500)) //nolint:gosec // an MTU
	f.Wire = min(f.Wire, uint64(float64(from.Sent)*(1+toolBeyondShare))+again*size+toolBeyond)
	f.Segments += again // which the kernel counts apart
	return f
}
