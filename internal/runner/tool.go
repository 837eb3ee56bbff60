package runner

import (
	"fmt"

	"tare/internal/tool"
	"tare/internal/traffic"
)

// fit holds both ends of a pair's trial to what was asked and to each other: who
// made the traffic, in which version, and whether a tool's figures can be. It adds
// what a reader must know to the client's notes. It is the one place where a run
// looks at that.
func (p *pair) fit() error {
	if asked := p.clientSide.Tool; asked != "" && p.client.Tool == nil && p.server.Tool == nil {
		return fmt.Errorf("%s was asked for, but it was tare that made the traffic", asked)
	}
	notes, err := tool.Check(p.clientSide, p.client, p.server)
	p.client.Notes = append(p.client.Notes, notes...)
	return err
}

// workload finds what makes a trial's traffic and reads its figures.
func workload(p traffic.Params) (traffic.Workload, error) { return tool.For(p) }
