package split

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tare/internal/driver"
	"tare/internal/lab"
)

// Provision builds the mode between the two machines. On error nothing of it is left.
func (d *Driver) Provision(ctx context.Context, o driver.Order) (*driver.Path, error) {
	if err := o.CheckNoLimits(); err != nil {
		return nil, err
	}
	hosts, err := d.hosts(ctx)
	if err != nil {
		return nil, err
	}
	hosts = named(hosts)
	if splitOf(d.drivers, o.Mode) == driver.SplitAlone {
		return d.provisionAlone(ctx, o, hosts[0])
	}
	if err := requireRoot(o.Mode, hosts); err != nil {
		return nil, err
	}
	b, err := open(ctx, hosts, o)
	if err != nil {
		return nil, err
	}
	p, err := d.build(ctx, b)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, err), b.close(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// provisionAlone builds a mode within one host, in a lab on that machine.
func (d *Driver) provisionAlone(ctx context.Context, o driver.Order, h Host) (*driver.Path, error) {
	if err := requireRoot(o.Mode, [2]Host{h, h}); err != nil {
		return nil, err
	}
	f, err := start(ctx, h, lab.SideA, o.Run)
	if err != nil {
		return nil, err
	}
	b := &both{order: o, halves: []*half{f}}
	fail := func(err error) (*driver.Path, error) {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, err), b.close(context.WithoutCancel(ctx)))
	}
	got, err := f.ask(ctx, request{Op: opLink, To: h.Address})
	if err != nil {
		return fail(err)
	}
	want := b.newOrder(buildAlone)
	want.LinkMTU = lab.DefaultMTU
	made, err := b.onFreeSlot(ctx, got.Link.Slots, want)
	if err != nil {
		return fail(err)
	}
	return b.path(made)
}

// both are the halves of one mode, one on each machine, or the only one.
type both struct {
	order  driver.Order
	halves []*half
	links  [2]link

	once   sync.Once
	closed error
}

// open starts the halves on both machines and finds the link between these.
func open(ctx context.Context, hosts [2]Host, o driver.Order) (*both, error) {
	b := &both{order: o}
	halves, err := parallel(ctx, func(ctx context.Context, i int) (*half, error) { return start(ctx, hosts[i], sides()[i], o.Run) })
	for _, f := range halves {
		if f != nil {
			b.halves = append(b.halves, f)
		}
	}
	if err != nil {
		return nil, errors.Join(err, b.close(context.WithoutCancel(ctx)))
	}
	links, err := parallel(ctx, func(ctx context.Context, i int) (link, error) {
		got, err := b.halves[i].ask(ctx, request{Op: opLink, To: hosts[1-i].Address})
		if err != nil {
			return link{}, err
		}
		if got.Link == nil {
			return link{}, fmt.Errorf("host %s: tare %s replied without a link", hosts[i].Name, Command)
		}
		return *got.Link, nil
	})
	b.links = links
	if err == nil {
		err = b.checkLinks(hosts)
	}
	if err != nil {
		return nil, errors.Join(err, b.close(context.WithoutCancel(ctx)))
	}
	return b, nil
}

// checkLinks returns why the halves cannot be connected over the devices that lead from each
// host to the other.
func (b *both) checkLinks(hosts [2]Host) error {
	for i, l := range b.links {
		from, to := hosts[i].Name, hosts[1-i]
		reason := ""
		switch {
		case l.Local:
			reason = fmt.Sprintf("host %s has the address %s itself, so both hosts are one machine; leave out the hosts to measure in a lab on it", from, to.Address)
		case l.Gateway.IsValid():
			reason = fmt.Sprintf("the mode is built on the link between the hosts, and the route from host %s to %s leads through the gateway %s; use hosts on one network segment", from, to.Address, l.Gateway)
		case l.MAC == "":
			reason = fmt.Sprintf("the mode is built on an Ethernet link between the hosts, and %s, which leads from host %s to %s, is none (%s); name an address of the other host on such a link", l.Device, from, to.Address, l.Kind)
		}
		if reason != "" {
			return &driver.Unsupported{Mode: b.order.Mode, Reason: reason}
		}
	}
	return nil
}

// build tests the link, builds both halves and checks that these reach each other.
func (d *Driver) build(ctx context.Context, b *both) (*driver.Path, error) {
	if err := d.testLink(ctx, b); err != nil {
		return nil, err
	}
	made, err := b.make(ctx, b.newOrder(buildMode))
	if err != nil {
		return nil, err
	}
	p, err := b.path(made)
	if err != nil {
		return nil, err
	}
	if err := b.checkReachable(ctx, p); err != nil {
		return nil, fmt.Errorf("%w: both hosts are set up, but what the mode is to carry does not arrive", err)
	}
	return p, nil
}

// testLink finds out, once for two hosts, whether the network between them carries frames of
// other hardware addresses than those of the network cards: it builds the halves of a lab
// without a mode and lets their hosts exchange datagrams.
func (d *Driver) testLink(ctx context.Context, b *both) error {
	key := [2]netip.Addr{b.halves[0].host.Address, b.halves[1].host.Address}
	d.mu.Lock()
	defer d.mu.Unlock()
	err, known := d.tested[key]
	if !known {
		err = b.testLink(ctx, cmp.Or(d.link, linkTimeout()))
		var lacks *carriesNoFrames
		if err == nil || errors.As(err, &lacks) {
			d.tested[key] = err
		}
	}
	var lacks *carriesNoFrames
	if errors.As(err, &lacks) {
		return &driver.Unsupported{Mode: b.order.Mode, Reason: lacks.Error()}
	}
	return err
}

// carriesNoFrames is the error that two hosts of a lab cannot reach each other over the link.
type carriesNoFrames struct {
	a, b Host
	err  error
}

func (c *carriesNoFrames) Error() string {
	return fmt.Sprintf("the network between hosts %s and %s does not carry frames from other hardware addresses than the network cards' own, as on Wi-Fi and in many clouds (%v); "+
		"use a wired network that both hosts are attached to, or measure modes that need no other addresses, such as docker/published", c.a.Name, c.b.Name, c.err)
}

func (b *both) testLink(ctx context.Context, wait time.Duration) error {
	made, err := b.make(ctx, b.newOrder(buildHosts))
	if err != nil {
		return err
	}
	p, err := b.path(made)
	if err != nil {
		return err
	}
	unreachable := b.exchange(ctx, p, wait)
	if _, err := parallel(ctx, func(ctx context.Context, i int) (reply, error) {
		return b.halves[i].ask(ctx, request{Op: opClose})
	}); err != nil {
		return err
	}
	if unreachable != nil && ctx.Err() == nil && b.running() {
		return &carriesNoFrames{b.halves[0].host, b.halves[1].host, unreachable}
	}
	return unreachable
}

// running reports whether both halves run.
func (b *both) running() bool {
	return !slices.ContainsFunc(b.halves, func(f *half) bool { return f.Err() != nil })
}

// newOrder returns the order for both halves, without a slot.
func (b *both) newOrder(kind string) order {
	o := b.order
	return order{
		Kind: kind, Mode: o.Mode, Name: cmp.Or(o.Name, o.Mode), Label: cmp.Or(o.Label, "probe"), Pairs: o.Pairs, MTU: o.MTU, With: o.With,
		LinkMTU: min(b.links[0].MTU, b.links[1].MTU), IPv6: b.links[0].IPv6 && b.links[1].IPv6,
	}
}

// make builds both halves on an address slot that is free on both machines.
func (b *both) make(ctx context.Context, o order) ([]built, error) {
	o.Seed = make([]byte, lab.SeedBytes)
	if _, err := rand.Read(o.Seed); err != nil {
		return nil, fmt.Errorf("generate a seed: %w", err)
	}
	var common []int
	for _, slot := range b.links[0].Slots {
		if slices.Contains(b.links[1].Slots, slot) {
			common = append(common, slot)
		}
	}
	return b.onFreeSlot(ctx, common, o)
}

// slotTries limits how many slots are tried that other processes take at the same moment.
const slotTries = 5

// onFreeSlot builds on one of the slots, chosen at random: modes on one link have distinct
// addresses, and so have, most likely, those of others on the same network.
func (b *both) onFreeSlot(ctx context.Context, slots []int, o order) ([]built, error) {
	slots = slices.Clone(slots)
	mathrand.Shuffle(len(slots), func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
	for _, slot := range slots[:min(slotTries, len(slots))] {
		o.Slot = slot
		made, err := b.buildHalves(ctx, o)
		if !errors.Is(err, errSlotTaken) {
			return made, err
		}
		// The other half may have been built.
		for _, f := range b.halves {
			if _, err := f.ask(ctx, request{Op: opClose}); err != nil {
				return nil, err
			}
		}
	}
	return nil, errors.New("no address slot is free on both machines: each run of a lab and each mode between two machines has one; wait for a run to end, or measure fewer modes at once")
}

// buildHalves builds the halves at the same time. If one fails, the other is given up.
func (b *both) buildHalves(ctx context.Context, o order) ([]built, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m := newMeeting(len(b.halves))
	out, errs := make([]built, len(b.halves)), make([]error, len(b.halves))
	var wg sync.WaitGroup
	for i, f := range b.halves {
		wg.Go(func() {
			own := o
			own.Side, own.Parent = f.side, b.links[i].Device
			got, err := f.call(ctx, request{Op: opBuild, Order: &own}, m.arrive)
			if err == nil && got.Built == nil {
				err = fmt.Errorf("host %s: tare %s replied without a path", f.host.Name, Command)
			}
			if err == nil {
				out[i] = *got.Built
				return
			}
			errs[i] = err
			cancel(errOther)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, errOther) {
			return nil, err
		}
	}
	return out, errors.Join(errs...)
}

// errOther is the cause of giving up one half because the other failed.
var errOther = errors.New("the other host failed")

// parallel calls do for both hosts at the same time.
func parallel[T any](ctx context.Context, do func(ctx context.Context, i int) (T, error)) (out [2]T, err error) {
	var errs [2]error
	var wg sync.WaitGroup
	for i := range out {
		wg.Go(func() { out[i], errs[i] = do(ctx, i) })
	}
	wg.Wait()
	return out, errors.Join(errs[:]...)
}

// close removes the mode and ends both halves. It may be called again.
func (b *both) close(ctx context.Context) error {
	b.once.Do(func() { b.closed = b.end(ctx) })
	return b.closed
}

func (b *both) end(ctx context.Context) error {
	errs := make([]error, len(b.halves))
	var wg sync.WaitGroup
	for i, f := range b.halves {
		wg.Go(func() { errs[i] = f.close(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
