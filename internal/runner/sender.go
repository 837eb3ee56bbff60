package runner

import (
	"strings"

	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/tool"
	"tare/internal/traffic"
)

// What the kernel of an end's network stack counted of TCP meanwhile. It knows two
// things that reports do not: why segments were sent again, and, of an external tool,
// how many there were at all.

// place is the network stack of one end of a pair.
func (l *lane) place(pair int, end string) string {
	at := l.stage.path.Pairs[pair]
	if end == "server" {
		return at.Server.Stack
	}
	return at.Client.Stack
}

// tcpMoved is how far the counters of TCP moved in a network stack; nil where they
// were not read, or where others have traffic, too.
func (l *lane) tcpMoved(place string) map[string]uint64 {
	for _, s := range l.stacks {
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

// resent books what the senders of all pairs at one end sent again; nil where not all
// of their stacks tell. A stack that several of them share is counted once.
func (l *lane) resent(end string) map[string]int64 {
	seen, sum := map[string]bool{}, map[string]int64{}
	for i := range l.pairs {
		at := l.place(i, end)
		if seen[at] {
			continue
		}
		seen[at] = true
		causes := retransmitCauses(l.tcpMoved(at))
		if causes == nil {
			return nil
		}
		for cause, n := range causes {
			sum[cause] += n
		}
	}
	return sum
}

// senders records who limited the senders of a TCP workload, and why they sent again.
func (l *lane) senders() {
	if !l.counted || overUDP(l.Workload) {
		return
	}
	first := l.pairs[0].clientSide
	l.out.Limits = limitsOf(first, l.client, l.server)
	for _, w := range ways(first, l.client, l.server) {
		causes := l.resent(w.sender)
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
	c.Forward = l.hold(c.Forward, p.client, l.place(i, "client"))
	c.Reverse = l.hold(c.Reverse, p.server, l.place(i, "server"))
	return c
}

func (l *lane) hold(f driver.Flow, from traffic.Report, place string) driver.Flow {
	again, known := l.tcpMoved(place)["Tcp.RetransSegs"]
	if f.Datagrams || f.Unbounded || f.Payload == 0 || !known {
		return f
	}
	size := uint64(max(from.TCP.MSS, l.underlay.MTU, 1500)) //nolint:gosec // an MTU
	f.Wire = min(f.Wire, uint64(float64(from.Sent)*(1+toolBeyondShare))+again*size+toolBeyond)
	f.Segments += again // which the kernel counts apart
	return f
}
