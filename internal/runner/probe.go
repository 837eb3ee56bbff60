package runner

import (
	"context"

	"tare/internal/result"
)

// giveOf gives warnings about a mode, which a study may have another name for.
func (r *testbed) giveOf(s *modeUnderTest, all []result.Warning) {
	for _, w := range all {
		if w.Scope == s.path.Mode {
			w.Scope = s.mode.ID
		}
		r.give(w)
	}
}

// probe probes the path of a mode before its first trial. What it finds ends nothing.
func (r *testbed) probe(ctx context.Context, s *modeUnderTest) {
	if s.path.Probe == nil || len(s.agents) == 0 {
		return
	}
	facts, warnings := s.path.Probe(ctx, s.agents[0].client, s.agents[0].server)
	s.probed = facts
	r.giveOf(s, warnings)
}
