package watching

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"tare/bench/harness"
	"tare/internal/agent"
	"tare/internal/live"
	"tare/internal/live/term"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/traffic"
)

// liveMost is the maximum share of one core for the live view.
const liveMost = 0.01

// drawing is the period over which the view's own CPU time is measured.
const drawing = 30 * time.Second

// livePairs and liveLong are the number and length of the pairs of trials, one of each
// watched, that show whether the view changes results. With both workloads they take
// three minutes.
const (
	livePairs = 24
	liveLong  = 1500 * time.Millisecond
)

// LiveView measures the cost of the live view: its own CPU time, and its effect on the
// results of the trials that it shows.
func LiveView(ctx context.Context, _ harness.Options) (err error) {
	share, err := viewCPU()
	if err != nil {
		return err
	}
	claim, cpus, err := claimed()
	if err != nil {
		return err
	}
	defer claim.Release()
	c, err := newLabPair(ctx, claim, "host")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	harness.Title("The live view: its CPU time over %s, and %d pairs of trials of %s, one of each shown", drawing, livePairs, liveLong)
	fmt.Printf("Drawing six interleaved modes on 120 x 40 with twelve rates per second: %.2f %% of one core (at most %.0f %% allowed).\n\n", 100*share, 100*liveMost)
	harness.Columns("workload, host against host", "shown / not shown, mean (95 %)")
	rng := rand.New(rand.NewPCG(1, livePairs)) //nolint:gosec // an order, no secret
	loads := watchedLoads(liveLong)
	for _, name := range []string{"tcp_stream", "tcp_rr"} {
		l := loads[name]
		l.Slice, l.Rounds = 0, 0
		var ratios []float64
		for n := range livePairs {
			fmt.Fprintf(os.Stderr, "bench live: %s, pair %d of %d, from %s\n", name, n+1, livePairs, time.Now().Format(time.TimeOnly))
			r, err := c.shownRatio(ctx, l, cpus, rng)
			if err != nil {
				return fmt.Errorf("%s shown: %w", name, err)
			}
			ratios = append(ratios, r)
		}
		e, err := stats.GeoMeanInterval(ratios, 0.95)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %s |\n", name, harness.Interval(e, 3))
	}
	fmt.Println()
	if share > liveMost {
		return fmt.Errorf("the view uses %.2f %% of one core, more than %.0f %%", 100*share, 100*liveMost)
	}
	return nil
}

// shownRatio runs a trial on each lab of a pair, in random order, one of them shown on a
// terminal, and returns the ratio of the shown one to the other.
func (c *labPair) shownRatio(ctx context.Context, l watchedLoad, cpus []int, rng *rand.Rand) (float64, error) {
	var figures [2]float64
	shown := rng.IntN(2)
	for _, i := range rng.Perm(2) {
		p, stop := l.Params, func() error { return nil }
		if i == shown {
			view, err := onTerminal()
			if err != nil {
				return 0, err
			}
			stop = view.close
			p.Progress = traffic.MinProgressInterval
			view.Handle(live.Planned{RunID: "bench", Modes: []string{"host"}, Columns: []live.Column{{Workload: l.Kind, Metric: l.metric}}, Trials: 1, Blocks: 1, Estimate: time.Minute})
			view.Handle(live.ModeSettled{Mode: "host", Status: result.ModeMeasured})
			view.Handle(live.TrialStarted{Total: 1, Block: 1, Blocks: 1, Modes: []string{"host"}, Workload: l.Kind, Remaining: time.Minute})
			for _, a := range []*agent.Client{c.ends[i].client, c.ends[i].server} {
				var last traffic.Progress
				a.Watch(func(now traffic.Progress) {
					if rate, ok := now.Rate(last); ok {
						view.Handle(live.Progress{Mode: "host", Workload: l.Kind, Elapsed: now.Busy, Rate: rate, Unit: "1/s"})
					}
					last = now
				})
			}
		}
		err := func() error {
			t, err := c.begin(ctx, i, p, cpus)
			if err != nil {
				return err
			}
			client, server, err := t.Run(ctx)
			if err != nil {
				return err
			}
			figures[i], err = l.figure(client, server)
			return err
		}()
		if err = errors.Join(err, stop()); err != nil {
			return 0, err
		}
	}
	if !(figures[1-shown] > 0) {
		return 0, errors.New("the trial that was not shown carried no traffic")
	}
	return figures[shown] / figures[1-shown], nil
}

// shownView is the view on a terminal whose output is discarded.
type shownView struct {
	*term.Listener
	close func() error
}

func onTerminal() (shownView, error) {
	end, tty, err := pty.Open()
	if err != nil {
		return shownView{}, err
	}
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
		return shownView{}, errors.Join(err, end.Close(), tty.Close())
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, end) // ends with EIO when the terminal is closed
	}()
	l := term.Start(tty, term.Options{Environ: []string{"TERM=xterm-256color"}})
	return shownView{l, func() error {
		err := l.Close()
		err = errors.Join(err, tty.Close())
		<-read
		return errors.Join(err, end.Close())
	}}, nil
}

// viewCPU is the CPU time of this process divided by the time, while a view receives the
// events of a run with six interleaved modes.
func viewCPU() (float64, error) {
	view, err := onTerminal()
	if err != nil {
		return 0, err
	}
	modes := []string{"host", "netns/published", "netns/bridge", "netns/macvlan", "netns/ipvlan", "netns/vxlan"}
	view.Handle(live.Planned{RunID: "bench", Modes: modes, Columns: []live.Column{{Workload: "tcp_stream", Metric: "goodput"}, {Workload: "tcp_rr", Metric: "transaction_rate"}}, Blocks: 9, Estimate: time.Minute})
	for _, m := range modes {
		view.Handle(live.ModeSettled{Mode: m, Status: result.ModeMeasured})
	}
	from, err := harness.CPUTime(unix.RUSAGE_SELF)
	if err != nil {
		return 0, errors.Join(err, view.close())
	}
	began := time.Now()
	tick := time.NewTicker(traffic.MinProgressInterval)
	defer tick.Stop()
	for n := 0; time.Since(began) < drawing; n++ {
		if n%20 == 0 { // a group of interleaved trials, and the end of a block, every ten seconds
			view.Handle(live.TrialStarted{Done: n, Total: 400, Block: 1 + n/20, Blocks: 9, Modes: modes, Workload: "tcp_stream", Remaining: time.Minute})
			var cells []result.Cell
			for i, m := range modes {
				v, r := 1e9*float64(20-i), 1-float64(i)/20
				cells = append(cells, result.Cell{Mode: m, Workload: "tcp_stream", Metric: "goodput", Value: &v, Judgement: result.Judgement{Ratio: &r, RatioCI: &result.Interval{r - 0.01, r + 0.01}}})
			}
			view.Handle(live.Provisional{Blocks: 1 + n/20, Cells: cells})
		}
		for i, m := range modes {
			view.Handle(live.Progress{Mode: m, Workload: "tcp_stream", Elapsed: time.Second, Rate: 1e9 * float64(20+(n+i)%5), Unit: "bit/s"})
		}
		<-tick.C
	}
	to, err := harness.CPUTime(unix.RUSAGE_SELF)
	share := (to - from).Seconds() / time.Since(began).Seconds()
	return share, errors.Join(err, view.close())
}
