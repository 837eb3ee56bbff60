package runner

import (
	"context"
	"fmt"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/study"
	"tare/internal/traffic"
)

// standby is the second server of a trial, which the event puts in the place of the first pair's server: that of the path's pair after those of
// the trial, whose client is idle, or the successor that the event starts.
type standby struct {
	side          traffic.Params
	end           driver.Endpoint
	pair          int            // its index; -1 for a successor
	before, after traffic.Report // of the first server, and of this one
}

// standbyOf is the second server of a trial whose event replaces the first one, else nil.
func standbyOf(tr *trialRun) (*standby, error) {
	if tr.event == nil {
		return nil, nil
	}
	s := &standby{side: tr.pairs[0].serverSide, pair: -1}
	switch n := len(tr.pairs); {
	case tr.event.Successor != nil:
		s.end = *tr.event.Successor
	case tr.Workload.Event != study.EndpointReplaced:
		return nil, nil
	case n >= len(tr.tested.path.Pairs):
		return nil, fmt.Errorf("the mode has no further server for the event %s", tr.Workload.Event)
	default:
		s.pair, s.end = n, tr.tested.path.Pairs[n].Server
	}
	listen, _, err := s.end.Reach(s.side.Family == study.IPv6)
	s.side.Address = listen.String()
	return s, err
}

// succeeds reports whether the second server is there only once the event has begun.
func (s *standby) succeeds() bool { return s != nil && s.pair < 0 }

// beginStandby opens the port of the second server, if the trial has one.
func (tr *trialRun) beginStandby(ctx context.Context) error {
	s := tr.standby
	switch {
	case s == nil:
		return nil
	case s.succeeds():
		tr.pairs[0].trial.ExpectSuccessor(ctx)
		return nil
	}
	return tr.pairs[0].trial.Standby(ctx, tr.tested.agents[s.pair].server, s.side)
}

// proveReplaced checks by the counts of both servers that each answered requests in its turn, and records how many.
func (tr *trialRun) proveReplaced(t *agent.Trial) error {
	s := tr.standby
	s.before, s.after = t.Turns()
	first, second := tr.tested.path.Pairs[0].Server.Name, s.end.Name
	if s.before.Messages == 0 || s.after.Messages == 0 {
		return &voidError{fmt.Errorf("the event %s %w: %s answered %d requests, and %s in its place %d", tr.event.Name, driver.ErrNoEvent,
			first, s.before.Messages, second, s.after.Messages)}
	}
	for name, n := range map[string]int64{first: s.before.Messages, second: s.after.Messages} {
		tr.out.Event.Changed[name+".answered_requests"] = uint64(n) //nolint:gosec // a count above 0
	}
	return nil
}
