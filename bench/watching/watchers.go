package watching

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"tare/internal/driver"
	"tare/internal/facts"
	"tare/internal/observe"
	"tare/internal/observe/drops"
	"tare/internal/observe/stacks"
)

// watcher gathers evidence of one interleaved trial as a run does: with readings before
// and after it, and recording during its traffic.
type watcher interface {
	// before and after enclose the trial, off and on each of its slices.
	before(ctx context.Context, path *driver.Path) error
	on() error
	off() error
	after(ctx context.Context, path *driver.Path) error
	Close() error
}

// allWatchers returns those that are available here by name, and why others are not.
func allWatchers(run string) (have map[string]watcher, lacking []error) {
	own := observe.Own{PID: os.Getpid(), Run: run, MemoryGroups: facts.MemoryGroups("/")}
	have = map[string]watcher{"nothing": nothing{}, "counters": newCounters(own)}
	if s, err := stacks.Open("/proc", own); err != nil {
		lacking = append(lacking, fmt.Errorf("stacks: %w", err))
	} else if err := s.Close(); err == nil {
		have["stacks"] = &samples{own: own}
	}
	if r, err := newReasons(); err != nil {
		lacking = append(lacking, fmt.Errorf("drop reasons: %w", err))
	} else {
		have["drop reasons"] = r
	}
	return have, lacking
}

// nothing does not watch: its difference from an unwatched trial is noise.
type nothing struct{}

func (nothing) before(context.Context, *driver.Path) error { return nil }
func (nothing) on() error                                  { return nil }
func (nothing) off() error                                 { return nil }
func (nothing) after(context.Context, *driver.Path) error  { return nil }
func (nothing) Close() error                               { return nil }

// counters reads every network stack of the path before and after the trial, and the
// machine around each slice: a run with interleaved trials does so around all of them.
type counters struct {
	watch   *observe.CollectorSet
	session *observe.Session
}

func newCounters(own observe.Own) *counters {
	return &counters{watch: observe.NewCollectorSet(observe.Collectors("/proc", own))}
}

func (c *counters) before(ctx context.Context, path *driver.Path) error { return readPlaces(ctx, path) }
func (c *counters) after(ctx context.Context, path *driver.Path) error  { return readPlaces(ctx, path) }
func (c *counters) Close() error                                        { return nil }

func (c *counters) on() error {
	c.session = c.watch.Start()
	return nil
}

func (c *counters) off() error {
	c.session.Stop()
	return nil
}

// readPlaces reads the network stacks of a path.
func readPlaces(ctx context.Context, path *driver.Path) error {
	for _, p := range path.Stacks {
		if p.Read == nil {
			continue
		}
		if _, err := p.Read(ctx); err != nil {
			return fmt.Errorf("read the counters of %s: %w", p.Name, err)
		}
	}
	return nil
}

// reasons records the kernel's drop reasons for the trial's port.
type reasons struct {
	watcher *drops.Watcher
	session *drops.Session
}

func newReasons() (*reasons, error) {
	w, err := drops.New("/proc")
	if err != nil {
		return nil, err
	}
	return &reasons{watcher: w}, nil
}

func (r *reasons) before(context.Context, *driver.Path) error { return nil }
func (r *reasons) after(context.Context, *driver.Path) error  { return nil }
func (r *reasons) Close() error                               { return r.watcher.Close() }

func (r *reasons) on() (err error) {
	if r.session, err = r.watcher.Start(1); err != nil {
		return err
	}
	return r.session.Set(0, drops.Flow{Ends: []netip.AddrPort{netip.AddrPortFrom(netip.Addr{}, watchedPort)}})
}

func (r *reasons) off() error {
	_, err := r.session.Read(0)
	return errors.Join(err, r.session.Stop())
}

// samples samples the stacks of the whole machine.
type samples struct {
	own     observe.Own
	sampler *stacks.Sampler
	taken   *stacks.Samples
}

func (s *samples) Close() error {
	if s.sampler == nil {
		return nil
	}
	return s.sampler.Close() // closing it again is harmless
}

func (s *samples) before(context.Context, *driver.Path) (err error) {
	s.sampler, err = stacks.Open("/proc", s.own)
	return err
}

func (s *samples) after(context.Context, *driver.Path) error { return s.sampler.Close() }

func (s *samples) on() error {
	s.taken = &stacks.Samples{}
	return s.sampler.Start(s.taken)
}

func (s *samples) off() error {
	if err := errors.Join(s.sampler.Pause(), s.sampler.Identify()); err != nil {
		return err
	}
	_, err := s.sampler.Profile(s.taken)
	return err
}
