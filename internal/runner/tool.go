package runner

import (
	"fmt"

	"tare/internal/driver"
	"tare/internal/tool"
	"tare/internal/traffic"
)

// checkTool checks the reports of both endpoints of a pair against the study and against
// each other: the tool, its version, and whether its values are plausible. It adds what a
// reader must know to the client's notes. No other place in a run checks this.
func (p *pair) checkTool() error {
	if asked := p.clientSide.Tool; asked != "" && p.client.Tool == nil && p.server.Tool == nil {
		return fmt.Errorf("the study requests %s, but tare generated the traffic", asked)
	}
	notes, err := tool.Check(p.clientSide, p.client, p.server)
	p.client.Notes = append(p.client.Notes, notes...)
	p.client.Sent = tool.SentBy(p.client, p.server)
	return err
}

// workload returns the implementation that generates a trial's traffic and computes its
// metrics.
func workload(p traffic.Params) (traffic.Workload, error) { return tool.For(p) }

// toolBeyond and toolBeyondShare bound what a tool may have sent in addition to what it
// reports, in bytes and as a share: data written after it stopped counting, and its
// control connection.
const (
	toolBeyondShare = 0.02
	toolBeyond      = 256 << 10
)

// carriedWithRetransmits bounds what a tool's TCP can have put on the path by the tool's
// own report, not only by the kernel's counters: a tool that counts too little is then
// detected like one that counts too much. Headers get a tolerance of an eighth, as in
// every proof. The bound does not apply if several pairs may share stacks, if
// retransmissions were not counted, or for ntttcp, whose endpoints count over different
// periods.
func (tr *trialRun) carriedWithRetransmits(i int, c driver.Carried) driver.Carried {
	p := tr.all()[i]
	if len(tr.all()) > 1 || p.client.Tool == nil || p.server.Tool == nil || tool.HasOwnWindow(p.client.Tool.Name) {
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
	size := uint64(max(from.MSS, tr.underlay.MTU, 1500)) //nolint:gosec // an MTU
	f.Wire = min(f.Wire, uint64(float64(from.Sent)*(1+toolBeyondShare))+again*size+toolBeyond)
	f.Segments += again // which the kernel counts separately
	return f
}
