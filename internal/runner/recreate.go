package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
)

// recreateDue recreates the modes that are due before a block: sandboxes, devices,
// addresses and agents. Properties that one set-up fixes at random, such as the hash of a
// connection or the CPU of a process, then vary between blocks, and their variation is
// part of the measured spread instead of a bias of the mode.
func (r *testbed) recreateDue(ctx context.Context, block int) error {
	began := time.Now()
	var made []string
	for _, s := range r.tested {
		if s.status != result.ModeMeasured || r.schedule.Plan.SetsUp(block) || !r.cfg.Study.Recreate.Due(block, s.setupTime) {
			continue
		}
		if err := r.recreate(ctx, s); err != nil {
			return err
		}
		if s.status == result.ModeMeasured {
			made = append(made, s.mode.ID)
		}
	}
	if len(made) > 0 {
		r.tell(live.Recreated{Block: block, Modes: made, Took: time.Since(began)})
	}
	return nil
}

// recreate takes a mode down and sets it up again, with a second attempt if the first
// fails. If both fail, the mode has failed; only an interruption is an error.
func (r *testbed) recreate(ctx context.Context, s *modeUnderTest) error {
	err := s.takeDown()
	if err != nil {
		// Remaining resources would block a new set-up; the end of the run tries to
		// remove them again.
		r.settleMode(s, result.ModeFailed, fmt.Sprintf("cannot take the mode down to recreate it: %v", err))
		return nil
	}
	for range attempts {
		if err = r.setUp(ctx, s, nil); err == nil {
			s.setups++
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
	r.settleMode(s, result.ModeFailed, fmt.Sprintf("cannot recreate the mode: %v", err))
	return nil
}

// recreateLost recreates the modes of trials whose paths are lost, such as after the
// connection to a host was cut: the next attempt then has a path.
func (r *testbed) recreateLost(ctx context.Context, trials []plan.Trial) error {
	for _, t := range trials {
		s := r.underTest(t.Mode)
		if s.status != result.ModeMeasured || s.lost() == nil {
			continue
		}
		if err := r.recreate(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// lost returns why the mode's path can carry no further trial, nil if it can.
func (s *modeUnderTest) lost() error {
	if s == nil || s.path == nil || s.path.Lost == nil {
		return nil
	}
	return s.path.Lost()
}

// takeDown stops a mode's agents and closes its path. It has a context of its own, so
// that an interruption cannot leave half a path. It may be called again after an error.
func (s *modeUnderTest) takeDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), teardownWait())
	defer cancel()
	err := s.stopAgents()
	if s.path != nil {
		if cerr := s.path.Close(ctx); cerr != nil {
			return errors.Join(err, cerr)
		}
		s.path = nil
	}
	s.agents = nil
	return err
}
