package watching

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"tare/bench/harness"
	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/facts"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// watchedPort is where the servers of watched trials listen, so that it is known
// beforehand what to watch.
const watchedPort = 7007

// claimed gives a slot for labs, to be released, and the CPUs that may be used.
func claimed() (lab.Claim, []int, error) {
	cpus, err := facts.CPUs("/")
	if err != nil {
		return lab.Claim{}, nil, err
	}
	claim, err := lab.Standalone()
	return claim, cpus, err
}

// couple is a mode that stands twice, each on a lab of its own with agents of its own:
// what one of them carries while it is watched is held against what the other
// carries meanwhile, slice by slice.
type couple struct {
	mode string
	ends [2]struct {
		path           *driver.Path
		client, server *agent.Client
	}
}

func newCouple(ctx context.Context, claim lab.Claim, mode string) (*couple, error) {
	c := &couple{mode: mode}
	for i := range c.ends {
		if err := c.raise(ctx, claim, i); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

func (c *couple) raise(ctx context.Context, claim lab.Claim, i int) (err error) {
	at := &c.ends[i]
	at.path, err = netns.Driver{}.Provision(ctx, labdriver.SpecOn(lab.Spec{
		Claim: claim, Label: fmt.Sprintf("%s.%d", strings.ReplaceAll(c.mode, "/", "."), i), MTU: lab.DefaultMTU, Offload: true, Pin: linuxnet.RealRoot(),
	}, driver.ModeSpec{Mode: c.mode, Pairs: 1}))
	if err != nil {
		return err
	}
	pair := at.path.Pairs[0]
	if at.client, err = agent.Start(ctx, pair.Client.Launcher, claim.ID, pair.Client.Name); err != nil {
		return err
	}
	at.server, err = agent.Start(ctx, pair.Server.Launcher, claim.ID, pair.Server.Name)
	return err
}

// close ends the agents, and then what they ran in.
func (c *couple) close() error {
	var errs []error
	for _, e := range c.ends {
		for _, a := range []*agent.Client{e.client, e.server} {
			if a != nil {
				errs = append(errs, a.Close())
			}
		}
		if e.path != nil {
			errs = append(errs, e.path.Close(context.WithoutCancel(context.Background())))
		}
	}
	return errors.Join(errs...)
}

// begin opens a trial of one of the two.
func (c *couple) begin(ctx context.Context, i int, p traffic.Params, cpus []int) (*agent.Trial, error) {
	at := c.ends[i]
	if err := at.path.FlushConnections(ctx); err != nil {
		return nil, err
	}
	listen, dial, err := at.path.Pairs[0].Server.Reach(false)
	if err != nil {
		return nil, err
	}
	if listen.Port() == 0 { // the mode leaves it to the server
		listen, dial = netip.AddrPortFrom(listen.Addr(), watchedPort), netip.AddrPortFrom(dial.Addr(), watchedPort)
	}
	client, server := p, p
	n := len(cpus)
	client.CPU, server.CPU = cpus[n-1], cpus[n-1]
	if p.PayloadSize > 0 {
		client.CPU = cpus[max(0, n-2)] // datagrams have an end on each of two CPUs, as in a run
	}
	client.SameCPU = client.CPU == server.CPU
	server.SameCPU = client.SameCPU
	client.Address, server.Address = dial.String(), listen.String()
	return agent.Begin(ctx, at.client, at.server, client, server)
}

// ratio drives a trial of each of the two in turns, one of them watched, and gives
// what the watched one reached of the other. Which one is watched is drawn, for the
// two may differ; the order of each round, too.
func (c *couple) ratio(ctx context.Context, l watchedLoad, w watcher, cpus []int, rng *rand.Rand) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*(l.Warmup+2*l.Duration)+harness.TrialGrace)
	defer cancel()
	watched := rng.IntN(2)
	if err := w.before(ctx, c.ends[watched].path); err != nil {
		return 0, err
	}
	var trials [2]*agent.Trial
	err := func() (err error) {
		for i := range trials {
			if trials[i], err = c.begin(ctx, i, l.Params, cpus); err != nil {
				return err
			}
			if err := trials[i].Open(ctx); err != nil {
				return err
			}
		}
		return turnsOf(ctx, trials, l, watched, w, rng)
	}()
	var figures [2]float64
	for i, t := range trials {
		switch {
		case t == nil:
		case err != nil:
			_ = t.Release(ctx) // what went wrong first is what counts
		default:
			var client, server traffic.Report
			if client, server, err = t.Close(ctx); err == nil {
				figures[i], err = l.figure(client, server)
			}
		}
	}
	if err == nil {
		err = w.after(ctx, c.ends[watched].path)
	}
	if err == nil && !(figures[1-watched] > 0) {
		err = errors.New("the unwatched trial carried nothing")
	}
	return figures[watched] / figures[1-watched], err
}

// turnsOf drives the slices of both trials.
func turnsOf(ctx context.Context, trials [2]*agent.Trial, l watchedLoad, watched int, w watcher, rng *rand.Rand) error {
	for range l.Rounds {
		for _, i := range rng.Perm(2) {
			if i == watched {
				if err := w.on(); err != nil {
					return err
				}
			}
			err := trials[i].Slice(ctx, l.Slice)
			if i == watched {
				err = errors.Join(err, w.off())
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// watchedLoad is a workload whose price of watching is measured, and its figure.
type watchedLoad struct {
	traffic.Params
	metric string
}

// figure is the load's own of what both ends report.
func (l watchedLoad) figure(client, server traffic.Report) (float64, error) {
	work, err := workloads.Named(l.Kind)
	if err != nil {
		return 0, err
	}
	metrics, _ := work.Metrics(l.Params, client, server)
	v, ok := metrics[l.metric]
	if !ok {
		return 0, fmt.Errorf("%s gave no %s", l.Kind, l.metric)
	}
	return v, nil
}

// watchedLoads are the workloads, in slices of their own as a run has them but for the
// exchanges, whose slices of 10 ms would be as short as what is done between them.
func watchedLoads(long time.Duration) map[string]watchedLoad {
	const slice = 125 * time.Millisecond
	load := func(metric string, p traffic.Params) watchedLoad {
		p.Token, p.Congestion, p.NoDelay = harness.Token, harness.Congestion, true
		p.Warmup, p.Duration, p.Slice = 100*time.Millisecond, long, slice
		timed := slice - slice/traffic.SliceWarmup
		p.Rounds = int((long + timed - 1) / timed)
		return watchedLoad{p, metric}
	}
	return map[string]watchedLoad{
		"tcp_stream": load("goodput", traffic.Params{Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10, SendBuffer: 1 << 20, ReceiveBuffer: 1 << 20}),
		"tcp_rr":     load("transaction_rate", traffic.Params{Kind: "tcp_rr", Streams: 1, RequestSize: 1, ResponseSize: 1, SendBuffer: -1, ReceiveBuffer: -1}),
		"udp_stream": load("goodput", traffic.Params{Kind: "udp_stream", Streams: 1, PayloadSize: 1400, Burst: 64, SendBuffer: -1, ReceiveBuffer: 4 << 20}),
	}
}
