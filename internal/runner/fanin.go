package runner

import (
	"context"
	"fmt"

	"tare/internal/agent"
	"tare/internal/traffic"
)

// fansIn reports whether the pairs of the trial are clients of one server, that of the first pair. The servers of the others are idle.
func (tr *trialRun) fansIn() bool { return tr.Workload.FanIn > 1 }

// clients are the reports of the clients.
func (tr *trialRun) clients() (all []traffic.Report) {
	for _, p := range tr.pairs {
		all = append(all, p.client)
	}
	return all
}

// beginFanIn opens the port of the one server, if all clients of the trial have the same.
func (tr *trialRun) beginFanIn(ctx context.Context) error {
	if !tr.fansIn() {
		return nil
	}
	var clients []*agent.Client
	var sides []traffic.Params
	for i, p := range tr.pairs {
		clients, sides = append(clients, tr.tested.agents[i].client), append(sides, p.clientSide)
	}
	trials, err := agent.BeginFanIn(ctx, clients, tr.tested.agents[0].server, sides, tr.pairs[0].serverSide)
	for i, t := range trials {
		tr.pairs[i].trial = t
	}
	return err
}

// oneServer checks by the counts of the endpoints that the server answered every request of the clients that has an answer: no other one did.
func (tr *trialRun) oneServer() error {
	if !tr.fansIn() {
		return nil
	}
	var answered int64
	for _, p := range tr.pairs {
		answered += p.client.Messages
	}
	if got := tr.pairs[0].server.Messages; got < answered {
		return fmt.Errorf("the %d clients received %d answers, and the server %s sent %d: another server answered the rest",
			len(tr.pairs), answered, tr.tested.path.Pairs[0].Server.Name, got)
	}
	return nil
}

// meanWindow is the mean time of the clients of one server, s: as of the flows of one client, see traffic.LoopCounter. Each client has the
// same number of flows.
func meanWindow(clients []*pair) float64 {
	var sum float64
	for _, p := range clients {
		sum += p.client.Window.Seconds
	}
	return sum / float64(len(clients))
}
