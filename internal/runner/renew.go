package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/live"
	"tare/internal/result"
)

// renew makes those modes anew whose turn it is before a block: sandboxes, devices,
// addresses and agents. What such a set-up happens to come out like, as the hash of
// a connection or the place of a process, is then drawn again, and its scatter is
// seen instead of being taken for the mode's.
func (r *run) renew(ctx context.Context, block int) error {
	began := time.Now()
	var made []string
	for _, s := range r.stages {
		if s.status != result.ModeMeasured || !r.cfg.Study.Renew.Due(block, s.took) {
			continue
		}
		if err := r.remake(ctx, s); err != nil {
			return err
		}
		if s.status == result.ModeMeasured {
			made = append(made, s.mode.ID)
		}
	}
	if len(made) > 0 {
		r.tell(live.Renewed{Block: block, Modes: made, Took: time.Since(began)})
	}
	return nil
}

// remake takes a mode down and makes it again, twice if need be. One that cannot be
// made again is failed; only an interruption is an error.
func (r *run) remake(ctx context.Context, s *stage) error {
	err := s.takeDown()
	if err != nil {
		// What is left of it would be in the way, and the run's end tries again.
		r.settle(s, result.ModeFailed, fmt.Sprintf("could not be taken down to be made anew: %v", err))
		return nil
	}
	for range attempts {
		if err = r.raise(ctx, s); err == nil {
			s.made++
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if down := s.takeDown(); down != nil {
			err = errors.Join(err, down)
			break
		}
	}
	r.settle(s, result.ModeFailed, fmt.Sprintf("could not be made anew: %v", err))
	return nil
}

// takeDown ends a mode's agents and closes its path. It has a context of its own:
// half a path is no state to be interrupted in. After an error it may be called
// again.
func (s *stage) takeDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), teardownWait)
	defer cancel()
	err := s.dismiss()
	if s.path != nil {
		if cerr := s.path.Close(ctx); cerr != nil {
			return errors.Join(err, cerr)
		}
		s.path = nil
	}
	s.agents = nil
	return err
}
