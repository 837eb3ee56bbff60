package runner

import (
	"context"
	"maps"
	"strings"
	"time"

	"tare/internal/observe"
	"tare/internal/observe/netstack"
	"tare/internal/result"
	"tare/internal/study"
)

// figureEnds is the time between the readings of the ends' machines, which is longer
// than the trial's by what it takes to begin it and to prove its path from afar.
const figureEnds = result.FigurePressureTime

// strained is whether a figure is one of memory and pressure, which are those of the
// machines that the ends of a trial are on.
func strained(figure string) bool {
	return strings.HasPrefix(figure, "pressure_") || strings.HasPrefix(figure, "memory_")
}

// endsRead is what the agents of a trial's ends read of their machines, nil where one
// could not, and where this program is on the machine itself.
type endsRead struct {
	client, server *netstack.Reading
	at             time.Time
}

// readEnds asks both ends of a lane's first pair, outside of what is timed, if their
// machines are not this one.
func (r *run) readEnds(ctx context.Context, l *lane) (e endsRead) {
	if ctx.Err() != nil || !r.elsewhere() || r.cfg.Study.Evidence.Counters == study.Off || l.err != nil || len(l.stage.agents) == 0 {
		return e
	}
	at := l.stage.agents[0]
	if at.client == nil || at.server == nil {
		return e // they are started with the trial
	}
	e.at = time.Now()
	if got, err := at.client.Read(ctx); err == nil {
		e.client = &got
	} else {
		r.warn("not_observed", "run", "memory and pressure at the client's machine: %v", err)
	}
	if got, err := at.server.Read(ctx); err == nil {
		e.server = &got
	} else {
		r.warn("not_observed", "run", "memory and pressure at the server's machine: %v", err)
	}
	return e
}

// strains reads the machines of all lanes' ends, and returns what does so again when
// their traffic has ended and notes what lies between.
func (r *run) strains(ctx context.Context, lanes []*lane) (end func()) {
	before := make([]endsRead, len(lanes))
	for i, l := range lanes {
		before[i] = r.readEnds(ctx, l)
	}
	return func() {
		for i, l := range lanes {
			if !before[i].at.IsZero() {
				l.strain(before[i], r.readEnds(ctx, l))
			}
		}
	}
}

// strain notes with a lane what the machines of its ends were short of between two
// readings. Two ends on one kernel are one machine.
func (l *lane) strain(before, after endsRead) {
	var found map[string]float64
	if before.client != nil && after.client != nil {
		found = observe.Strain(after.client.Strain).Since(before.client.Strain)
	}
	if before.server != nil && after.server != nil && !sameMachine(after) {
		found = observe.Worse(found, observe.Strain(after.server.Strain).Since(before.server.Strain))
	}
	if len(found) == 0 {
		return
	}
	if l.out.Machine == nil {
		l.out.Machine = map[string]float64{}
	}
	maps.Copy(l.out.Machine, found)
	l.out.Machine[figureEnds] = after.at.Sub(before.at).Seconds()
}

func sameMachine(e endsRead) bool {
	return e.client != nil && e.client.Boot != "" && e.client.Boot == e.server.Boot
}
