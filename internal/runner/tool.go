package runner

import (
	"fmt"

	"tare/internal/driver"
	"tare/internal/tool"
	"tare/internal/traffic"
)

// checkTool holds both ends of a pair's trial to what was asked and to each other: who
// made the traffic, in which version, and whether a tool's figures can be. It adds
// what a reader must know to the client's notes. It is the one place where a run
// looks at that.
func (p *pair) checkTool() error {
	if asked := p.clientSide.Tool; asked != "" && p.client.Tool == nil && p.server.Tool == nil {
		return fmt.Errorf("%s was asked for, but it was tare that made the traffic", asked)
	}
	notes, err := tool.Check(p.clientSide, p.client, p.server)
	p.client.Notes = append(p.client.Notes, notes...)
	return err
}

// workload finds what makes a trial's traffic and reads its figures.
func workload(p traffic.Params) (traffic.Workload, error) { return tool.For(p) }

// What a tool may have sent beyond what it says, as a share and in bytes: what it
// wrote when it had stopped counting, and its control connection.
const (
	toolBeyondShare = 0.02
	toolBeyond      = 256 << 10
)

// carriedWithRetransmits bounds what a tool's TCP can have put on the path by what it says to have sent,
// and not only by what its kernel did: a tool that counts too little is then found out
// as one that counts too much is. Headers leave room for an eighth, as everywhere in a
// proof. Nothing is held where several pairs may share stacks or nobody counted what
// was sent again, nor ntttcp, whose ends count over times of their own.
func (tr *trialRun) carriedWithRetransmits(i int, c driver.Carried) driver.Carried {
	p := tr.pairs[i]
	if len(tr.pairs) > 1 || p.client.Tool == nil || p.server.Tool == nil || tool.HasOwnWindow(p.client.Tool.Name) {
		return c
	}
	c.Forward = tr.countsOfTool(c.Forward, p.client, tr.observed.TCPMoved(i, "client"))
	c.Reverse = tr.countsOfTool(c.Reverse, p.server, tr.observed.TCPMoved(i, "server"))
	return c
}

func (tr *trialRun) countsOfTool(f driver.Flow, from traffic.Report, moved map[string]uint64) driver.Flow {
	again, known := moved["Tcp.RetransSegs"]
	if f.Datagrams || f.Unbounded || f.Payload == 0 || !known {
		return f
	}
	size := uint64(max(from.TCP.MSS, tr.underlay.MTU, 1500)) //nolint:gosec // an MTU
	f.Wire = min(f.Wire, uint64(float64(from.Sent)*(1+toolBeyondShare))+again*size+toolBeyond)
	f.Segments += again // which the kernel counts apart
	return f
}
