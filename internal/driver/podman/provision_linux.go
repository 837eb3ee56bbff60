package podman

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/driver/setting"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/study"
)

// recipe is how a mode is built.
type recipe struct {
	onA, rootless bool     // host a has a Podman, too; an ordinary user runs them
	needs         []string // programs that Podman needs for it
	build         func(*path, context.Context) error
}

func recipeFor(mode string) (recipe, error) {
	switch mode {
	case host:
		return recipe{onA: true, build: (*path).host}, nil
	case published:
		return recipe{needs: []string{"iptables"}, build: (*path).published}, nil
	case bridge:
		return recipe{onA: true, needs: []string{"iptables"}, build: (*path).bridge}, nil
	case rootlessSlirp:
		return recipe{rootless: true, needs: []string{"slirp4netns", rootlessport}, build: (*path).slirp}, nil
	case rootlessPasta:
		return recipe{rootless: true, needs: []string{"pasta"}, build: (*path).pasta}, nil
	}
	return recipe{}, fmt.Errorf("driver podman has no mode %q", mode)
}

// Probe builds the mode once, including Podmans, and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	r, err := recipeFor(o.Mode)
	if err != nil {
		return err
	}
	if _, err := installed(ctx, o, r); err != nil {
		return err
	}
	o.Lab.Pin = true
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode with its own lab and Podmans, with 1 to MaxPairs pairs.
func (d Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	r, err := recipeFor(o.Mode)
	if err != nil {
		return nil, err
	}
	if err := o.CheckPairs(); err != nil {
		return nil, err
	}
	if err := d.checkLimits(o); err != nil {
		return nil, err
	}
	installation, err := installed(ctx, o, r)
	if err != nil {
		return nil, err
	}
	l, err := lab.Up(o.Lab)
	if err != nil {
		return nil, err
	}
	p := &path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs}, order: o.Order, lab: l, a: hostOf(l.A), b: hostOf(l.B)}
	err = p.start(ctx, installation, r)
	if err == nil {
		err = r.build(p, ctx)
	}
	if err == nil {
		err = setting.Apply(&p.Path, o.With)
	}
	if err == nil {
		err = p.reachable(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, p.explainError(ctx, err)), p.close(context.WithoutCancel(ctx)))
	}
	return p.DriverPath(driver.Path{
		Hosts: labdriver.Hosts(), Underlay: labdriver.Underlay(o.Lab), Facts: p.versionFacts(), Processes: p.processes,
		Snapshot: p.snapshot, FlushConnections: p.flushConnections, Close: p.close, Internal: p,
	}), nil
}

// checkLimits rejects limits on an endpoint that is not in a container, or whose container an
// ordinary user's Podman cannot limit.
func (d Driver) checkLimits(o labdriver.Order) error {
	var can study.Ends
	for _, m := range d.Modes() {
		if m.ID == o.Mode {
			can = m.Limits
		}
	}
	none := study.Limit{}
	if o.Limits.Client != none && !can.Client || o.Limits.Server != none && !can.Server {
		return &driver.Unsupported{Mode: o.Mode, Reason: "limits are applied by Podman to containers, for root only; leave them out for host processes and for an ordinary user's containers"}
	}
	return nil
}

// installed returns the Podman for a mode.
func installed(ctx context.Context, o labdriver.Order, r recipe) (private.Podman, error) {
	for key := range o.Options {
		if key != optionBackend || r.rootless || o.Mode == host {
			return private.Podman{}, fmt.Errorf("provision %s: unknown option %s; the modes %s and %s have the option %s", o.Mode, key, bridge, published, optionBackend)
		}
	}
	lacking := func(reason string) error { return &driver.Unsupported{Mode: o.Mode, Reason: reason} }
	c, err := private.FindPodman(ctx, o.Options[optionBackend], r.needs...)
	if ctx.Err() != nil {
		return c, ctx.Err() // interrupted, which does not tell whether it can be used
	}
	if err != nil {
		return c, lacking(err.Error())
	}
	if c.Backend == private.BackendCNI && o.Lab.MTU != 0 && o.Lab.MTU != lab.DefaultMTU {
		return c, lacking(fmt.Sprintf("the default network of the backend cni has an MTU of %d; leave out the option or the MTU of the lab", lab.DefaultMTU))
	}
	if !r.rootless {
		return c, nil
	}
	c.User = private.OrdinaryUser
	if o.Mode == rootlessPasta && !c.AtLeast(4, 4) {
		return c, lacking(fmt.Sprintf("Podman %s (%s) has no network pasta; install 4.4 or newer", c.Version, c.Path))
	}
	if err := linuxnet.CheckTUN(); err != nil {
		return c, lacking(err.Error())
	}
	return c, nil
}

// start starts the required Podmans in parallel and loads the containers' image into them.
func (p *path) start(ctx context.Context, c private.Podman, r recipe) error {
	on := []*side{p.b}
	if r.onA {
		on = append(on, p.a)
	}
	errs := make([]error, len(on))
	var wg sync.WaitGroup
	for i, s := range on {
		wg.Go(func() {
			if s.podman, s.info, errs[i] = c.Start(ctx, p.lab, s.host); errs[i] == nil {
				_, errs[i] = s.podman.Image(ctx, p.lab.Spec.Claim.ID)
			}
		})
	}
	wg.Wait()
	return cmp.Or(errs...) // a common cause is reported once
}

// parallelExchanges is the maximum number of pairs whose agents start at the same time: Podman starts
// several programs for each agent, and with more of them agents would exceed the time limits of their
// start.
const parallelExchanges = 8

// reachable waits until all pairs have exchanged a few bytes.
func (p *path) reachable(ctx context.Context) error {
	pairs := p.Pairs()
	errs := make([]error, len(pairs))
	free := make(chan struct{}, parallelExchanges)
	var wg sync.WaitGroup
	var failed atomic.Bool // the others need not be tried
	for i, pair := range pairs {
		if free <- struct{}{}; failed.Load() {
			break
		}
		wg.Go(func() {
			if errs[i] = p.exchange(ctx, pair); errs[i] != nil {
				failed.Store(true)
			}
			<-free
		})
	}
	wg.Wait()
	for _, err := range errs { // the first error is enough
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *path) exchange(ctx context.Context, pair driver.Pair) (err error) {
	run := p.lab.Spec.Claim.ID
	client, err := agent.Start(ctx, pair.Client.Launcher, run, pair.Client.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	server, err := agent.Start(ctx, pair.Server.Launcher, run, pair.Server.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	watch := driver.WatchStacks(ctx, p.Stacks(), []driver.Pair{pair})
	for i, dial := range pair.Server.Dial {
		if err := remote.CheckReachable(ctx, client, server, pair.Client.Name, pair.Server.Name, pair.Server.Listen[i], dial, joinWait()); err != nil {
			return driver.WithCause(err, watch.Cause(ctx, 0))
		}
	}
	return nil
}
