package runner

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// scripted is a run whose trials are given instead of measured, by a simulated clock: all that the
// runner decides is its own. It needs neither rights nor a network. It is a driver, too.
type scripted struct {
	study   study.Study
	earlier []result.Trial // of the run that is resumed
	// give changes what a trial gives that the runner asks for: its record, an error, or the reason
	// why it is invalid. provide may refuse the nth set-up of a mode, and lost lose it. on is called for every event.
	give    func(tr *trialRun)
	provide func(mode string, nth int) error
	lost    func(mode string, nth int) error
	facts   func(mode string, nth int) []result.Fact
	on      func(live.Event)
	closing func() // called when a set-up is closed

	interrupt    func() // ends the run, while it runs
	events       events
	run          result.Run
	trials       []result.Trial // without the earlier ones
	made, closed map[string]int // set-ups by mode
	mu           sync.Mutex     // guards closed, because paths are closed in parallel
}

// scriptOf is a run of two blocks of one workload.
func scriptOf(modes ...string) *scripted {
	return &scripted{study: study.Study{
		Profile: study.Quick, Seed: 11, Modes: study.ModesOf(modes...), Blocks: 2, Margin: 0.1, Lab: study.Lab{MTU: 1500}, Evidence: study.Evidence{Drops: study.Off},
		Workloads: []study.Workload{exchanges()},
	}}
}

func exchanges() study.Workload {
	return study.Workload{ID: "tcp_rr", Kind: "tcp_rr", Flows: 1, RequestSize: 1, ResponseSize: 1, Family: study.IPv4, Congestion: "reno", SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
		Placement: study.Free, Duration: quantity.Duration(time.Second)}
}

// bulk is a workload that pilots and the cost pass are made for.
func bulk() study.Workload {
	return study.Workload{ID: "tcp_stream", Kind: "tcp_stream", Streams: 1, WriteSize: 16 << 10, Direction: study.Forward, Family: study.IPv4, Congestion: "cubic", SendBuffer: quantity.AutoBuffer(),
		ReceiveBuffer: quantity.AutoBuffer(), Placement: study.Free, Slice: quantity.AtOnce, Warmup: quantity.WaitOf(100 * time.Millisecond), Duration: quantity.Duration(time.Second)}
}

// Modes are a baseline, two modes with it, one that carries no datagrams, and one that cannot be had.
func (s *scripted) Modes() []driver.Mode {
	return []driver.Mode{
		{ID: "host"}, {ID: "netns/bridge", Baseline: "host"}, {ID: "netns/macvlan", Baseline: "host"},
		{ID: "proxy", Baseline: "host", Cannot: driver.TCPOnly("its proxies forward TCP connections alone")}, {ID: "elsewhere", Baseline: "host"},
	}
}

func (s *scripted) Probe(_ context.Context, o driver.Order) error { return unsupported(o.Mode) }

func unsupported(mode string) error {
	if mode == "elsewhere" {
		return &driver.Unsupported{Mode: mode, Reason: "it is not to be had"}
	}
	return nil
}

// Provision returns a path without endpoints, which has no agents. Nothing is left of a refused one.
func (s *scripted) Provision(ctx context.Context, o driver.Order) (*driver.Path, error) {
	refused := unsupported(o.Mode)
	if refused == nil {
		s.made[o.Name]++
		if s.provide != nil {
			refused = s.provide(o.Name, s.made[o.Name])
		}
		if refused = cmp.Or(refused, ctx.Err()); refused != nil {
			s.closed[o.Name]++
		}
	}
	var once sync.Once
	nth := s.made[o.Name]
	var facts []result.Fact
	if s.facts != nil {
		facts = s.facts(o.Name, nth)
	}
	return &driver.Path{
		Facts: facts,
		Lost: func() error {
			if s.lost == nil {
				return nil
			}
			return s.lost(o.Name, nth)
		},
		Mode: o.Mode, Hosts: labdriver.Hosts(), Topology: func() (result.Topology, error) { return result.Topology{}, nil },
		Close: func(context.Context) error {
			once.Do(func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.closed[o.Name]++
				if s.closing != nil {
					s.closing()
				}
			})
			return nil
		},
	}, refused
}

func (s *scripted) Handle(e live.Event) {
	s.events = append(s.events, e)
	if s.on != nil {
		s.on(e)
	}
}

// runs executes the run, and fails the test if something that was set up is not closed.
func (s *scripted) runs(t *testing.T) error {
	t.Helper()
	s.made, s.closed, s.events = map[string]int{}, map[string]int{}, nil
	var err error
	synctest.Test(t, func(t *testing.T) {
		var ctx context.Context
		ctx, s.interrupt = context.WithCancel(t.Context())
		defer s.interrupt()
		dir := must.Get(store.Create(filepath.Join(t.TempDir(), "run")))(t)
		defer dir.Close()
		build := result.Build{Version: "test"}
		done := slices.Clone(s.earlier)
		for i, d := range done {
			done[i].Experiment, done[i].Tare = plan.Settings(s.study).Experiment(d.Mode, d.Workload), build.String()
			must.Do(t, dir.Append(done[i]))
		}
		r := s.newRun(Config{RunID: "scripted", Dir: dir, Build: build, Resumed: store.Resumption{Trials: done, Last: len(done)}})
		s.run, err = r.whole(ctx)
		_, all, lerr := dir.Load()
		must.Do(t, lerr)
		s.trials = all[len(done):]
	})
	for mode, n := range s.made {
		must.EqualFor(t, mode+" was set up", n, s.closed[mode])
	}
	return err
}

// newRun is the run with the rest of its configuration.
func (s *scripted) newRun(cfg Config) *run {
	cfg.Study, cfg.Drivers, cfg.Listener, cfg.Machines = s.study, driver.Registry{s}, s, driver.HostInfo{Hosts: labdriver.Hosts(), CPUs: []int{0}}
	r := newRun(cfg)
	r.measure = func(_ context.Context, trials []plan.Trial, attempt int) []*trialRun {
		return s.measure(r, trials, attempt)
	}
	return r
}

// measure gives the trials of a group one after another. Each takes its planned time, and its rate is
// that of the mode, with a little noise that differs between blocks.
func (s *scripted) measure(r *run, trials []plan.Trial, attempt int) (group []*trialRun) {
	for _, asked := range trials {
		took := asked.Workload.Warmup.Std() + asked.Workload.Duration.Std()
		time.Sleep(took)
		tr := &trialRun{Trial: asked, tested: r.underTest(asked.Mode), out: r.emptyRecord(asked, attempt), elapsed: took}
		tr.out.Started = time.Now().UTC()
		rate := map[string]float64{"host": 10e9, "raw": 10e9}[asked.Mode]
		if rate == 0 {
			rate = 4.45e9
		}
		rate *= 1 + 0.001*float64(asked.Block%3) + 0.0005*float64(len(asked.Mode)*asked.Block%5)
		metric := map[string]string{"tcp_rr": "transaction_rate", "tcp_stream": "goodput", "udp_stream": "goodput"}[asked.Workload.Kind]
		tr.out.Metrics = map[string]float64{metric: rate}
		if s.give != nil {
			s.give(tr)
		}
		if tr.err != nil {
			tr.out.Metrics = nil
		}
		group = append(group, tr)
	}
	return group
}

// told lists the trials in order: what they were, how they ended, and whether they were run once more.
func (s *scripted) told() (out []string) {
	for _, t := range s.trials {
		text := fmt.Sprint(t.Block, " ", t.Mode, " ", t.Status)
		if t.Requeued {
			text += " again"
		}
		out = append(out, text)
	}
	return out
}

func (s *scripted) mode(id string) result.Mode {
	i := slices.IndexFunc(s.run.Modes, func(m result.Mode) bool { return m.ID == id })
	return s.run.Modes[max(0, i)]
}

// became checks what became of a mode, and of all trials.
func (s *scripted) became(t *testing.T, mode string, status result.ModeStatus, reason string, trials result.Tally) {
	t.Helper()
	must.EqualFor(t, mode, []any{status, reason, trials}, []any{s.mode(mode).Status, s.mode(mode).Reason, s.run.Trials})
}

// warned returns the text of the first warning with this code, empty without one.
func (s *scripted) warned(code string) string {
	i := slices.IndexFunc(s.run.Warnings, func(w result.Warning) bool { return w.Code == code })
	if i < 0 {
		return ""
	}
	return s.run.Warnings[i].Scope + ": " + s.run.Warnings[i].Text
}

// of returns the events of one kind.
func of[E live.Event](s *scripted) (out []E) {
	for _, e := range s.events {
		if e, ok := e.(E); ok {
			out = append(out, e)
		}
	}
	return out
}
