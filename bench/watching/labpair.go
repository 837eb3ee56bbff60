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
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// watchedPort is the port of the servers of watched trials, fixed so that it is known in
// advance.
const watchedPort = 7007

// claimed returns a slot for labs, which must be released, and the CPUs that may be used.
func claimed() (lab.Claim, []int, error) {
	cpus, err := facts.CPUs("/")
	if err != nil {
		return lab.Claim{}, nil, err
	}
	claim, err := lab.Standalone()
	return claim, cpus, err
}

// labPair is a mode that is set up twice, each on its own lab with its own agents: the
// throughput of one while it is watched is compared with that of the other, slice by
// slice.
type labPair struct {
	mode string
	ends [2]struct {
		path           *driver.Path
		client, server *agent.Client
	}
}

func newLabPair(ctx context.Context, claim lab.Claim, mode string) (*labPair, error) {
	c := &labPair{mode: mode}
	for i := range c.ends {
		if err := c.setUp(ctx, claim, i); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

func (c *labPair) setUp(ctx context.Context, claim lab.Claim, i int) (err error) {
	at := &c.ends[i]
	at.path, err = netns.Driver{}.Provision(ctx, labdriver.SpecOn(lab.Spec{
		Claim: claim, Label: fmt.Sprintf("%s.%d", strings.ReplaceAll(c.mode, "/", "."), i), MTU: lab.DefaultMTU, Offload: true, Pin: linuxnet.RealRoot(),
	}, driver.Order{Mode: c.mode, Pairs: 1}))
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

// close stops the agents, and then removes their labs.
func (c *labPair) close() error {
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
func (c *labPair) begin(ctx context.Context, i int, p traffic.Params, cpus []int) (*agent.Trial, error) {
	at := c.ends[i]
	if err := at.path.FlushConnections(ctx); err != nil {
		return nil, err
	}
	listen, dial, err := at.path.Pairs[0].Server.Reach(false)
	if err != nil {
		return nil, err
	}
	if listen.Port() == 0 { // the server chooses
		listen, dial = netip.AddrPortFrom(listen.Addr(), watchedPort), netip.AddrPortFrom(dial.Addr(), watchedPort)
	}
	client, server := p, p
	n := len(cpus)
	client.CPU, server.CPU = cpus[n-1], cpus[n-1]
	if p.PayloadSize > 0 {
		client.CPU = cpus[max(0, n-2)] // datagrams use one CPU for each endpoint, as in a run
	}
	client.Address, server.Address = dial.String(), listen.String()
	return agent.Begin(ctx, at.client, at.server, client, server)
}

// ratio runs an interleaved trial of each of the two, one of them watched, and returns
// the ratio of the watched one to the other. The watched one is chosen at random, because
// the two may differ, and so is the order of each round.
func (c *labPair) ratio(ctx context.Context, l watchedLoad, w watcher, cpus []int, rng *rand.Rand) (float64, error) {
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
			if _, err := trials[i].Open(ctx); err != nil {
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
			_ = t.Release(ctx) // the first error is the relevant one
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
		err = errors.New("the unwatched trial carried no traffic")
	}
	return figures[watched] / figures[1-watched], err
}

// turnsOf runs the slices of both trials.
func turnsOf(ctx context.Context, trials [2]*agent.Trial, l watchedLoad, watched int, w watcher, rng *rand.Rand) error {
	for range l.Rounds {
		for _, i := range rng.Perm(2) {
			if i == watched {
				if err := w.on(); err != nil {
					return err
				}
			}
			_, err := trials[i].Slice(ctx, l.Slice)
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

// watchedLoad is a workload for which the cost of watching is measured, and its metric.
type watchedLoad struct {
	traffic.Params
	metric string
}

// figure is the load's metric from both reports.
func (l watchedLoad) figure(client, server traffic.Report) (float64, error) {
	work, err := workloads.Named(l.Kind)
	if err != nil {
		return 0, err
	}
	metrics, _ := work.Metrics(l.Params, client, server)
	v, ok := metrics[l.metric]
	if !ok {
		return 0, fmt.Errorf("%s reported no %s", l.Kind, l.metric)
	}
	return v, nil
}

// watchedLoads are the workloads, with the slices of a run, except for the exchanges,
// whose slices of 10 ms would be as short as the work between them.
func watchedLoads(long time.Duration) map[string]watchedLoad {
	const slice = 125 * time.Millisecond
	load := func(metric string, p traffic.Params) watchedLoad {
		p.Token, p.Congestion, p.NoDelay = harness.Token, harness.Congestion, new(true)
		p.Warmup, p.Duration, p.Slice = 100*time.Millisecond, long, slice
		timed := slice - slice/traffic.SliceWarmup
		p.Rounds = int((long + timed - 1) / timed)
		return watchedLoad{p, metric}
	}
	return map[string]watchedLoad{
		"tcp_stream": load("goodput", traffic.Params{Workload: study.Workload{Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10, SendBuffer: quantity.Buffer(1 << 20), ReceiveBuffer: quantity.Buffer(1 << 20)}}),
		"tcp_rr":     load("transaction_rate", traffic.Params{Workload: study.Workload{Kind: "tcp_rr", Streams: 1, RequestSize: 1, ResponseSize: 1, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer()}}),
		"udp_stream": load("goodput", traffic.Params{Workload: study.Workload{Kind: "udp_stream", Streams: 1, PayloadSize: 1400, Burst: 64, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.Buffer(4 << 20)}}),
	}
}
