package engines

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/study"
)

// errServerEnded is why a path carries no further trial after such an event: the next one needs a fresh server.
var errServerEnded = errors.New("the container of the server has ended in the event, and the mode is set up again")

// successor is what a path has the container of whose first server ends in an event. Its devices, addresses and proxies end with it. Then another container
// publishes the port, or the same one is started again. The counters of the path keep what they were when the container ended, and what counts
// the traffic of the one that then serves is in the state of the event. The path is lost afterwards.
type successor struct {
	*restart
	replaces bool // one of the events is study.EndpointReplaced
	stack    *outlivedStack
	server   *box              // the first server
	next     *engine.Container // of study.EndpointReplaced, made and not started; nil for none
	nextSpec engine.ContainerSpec
	serving  atomic.Pointer[box] // that serves in the place of the first one; nil before
	bridge   bridgeReading       // when the container ended
	ended    bool                // the container has ended, or is about to
}

// bridgeReading is what the bridge of a host had carried, and which device that was.
type bridgeReading struct {
	index int
	link  pathspec.Link
}

// outlive returns a stack of the server's host whose devices may end.
func (x *successor) outlive(ns *linuxnet.NS) pathspec.Stack {
	x.stack = &outlivedStack{NamespaceStack: pathspec.NamespaceStack{NS: ns}, ended: map[string]pathspec.Link{}}
	return x.stack
}

// outlivedStack is a namespace whose devices keep what they had carried when they ended.
type outlivedStack struct {
	pathspec.NamespaceStack
	mu    sync.Mutex
	ended map[string]pathspec.Link
}

// Links reads the counters of devices.
func (s *outlivedStack) Links(ctx context.Context, names []string) (map[string]pathspec.Link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, has := s.ended[name]
		return has
	})
	out, err := s.NamespaceStack.Links(ctx, left)
	if err == nil {
		for _, name := range names {
			if l, has := s.ended[name]; has {
				out[name] = l
			}
		}
	}
	return out, err
}

// Describe describes a device. Of one that has ended nothing is known but its kind: only ends of containers' devices and their bridge end.
func (s *outlivedStack) Describe(ctx context.Context, name string) (kind string, facts []result.Fact, err error) {
	s.mu.Lock()
	_, has := s.ended[name]
	s.mu.Unlock()
	if has {
		return "device that has ended", nil, nil
	}
	return s.NamespaceStack.Describe(ctx, name)
}

// end keeps what devices have carried from now on.
func (s *outlivedStack) end(ctx context.Context, names ...string) error {
	links, err := s.Links(ctx, names)
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.ended, links)
	return err
}

// adapt makes the containers of the server's host start again with the engine if they end with it, and the first server one whose agent can be ordered.
func (x *successor) adapt(b *box) (err error) {
	if b.side != x.b || b.role != containers.Server {
		return nil
	}
	if b.spec.Restart = x.endsWithEngine(); b.spec.Restart && b.pair == 1 {
		b.spec.Standby, err = x.order("again")
	}
	return err
}

// order makes the directory in which the agent of the successor is ordered.
func (x *successor) order(name string) (string, error) { return x.b.engine.MakeStandby(name) }

// events are those of the path.
func (x *successor) events(elsewhere map[string]string) (all []driver.Event) {
	x.server = x.servers()[0]
	elsewhere = maps.Clone(elsewhere)
	for _, what := range []string{"tx_bytes", "rx_bytes"} {
		elsewhere[x.vethCounter(what)] = x.server.veth.Counter(x.server.vethAt, what)
		elsewhere[x.bridgeCounter(what)] = pathspec.Device{Name: x.b.bridge}.Counter(x.b.Place, what)
	}
	end := x.Pairs()[0].Server
	end.Name, end.Listen = x.name(), slices.Clone(end.Listen)
	for i, at := range end.Listen { // its own address is not known yet
		end.Listen[i] = netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port())
	}
	event := driver.Event{Flaps: true, Elsewhere: elsewhere, Successor: &end, State: x.state}
	if x.endsWithEngine() {
		e, to := event, end
		to.Launcher = x.ordered(x.server.spec.Standby)
		e.Name, e.Title, e.Successor = EngineRestart, "the engine of the server's host is restarted, its containers end and start again", &to
		e.Do, e.Happened = x.again, x.startedAgain
		all = append(all, e)
	}
	if x.replaces {
		e, to := event, end
		dir, err := x.order("next")
		to.Launcher = x.ordered(dir)
		e.Name, e.Title, e.Successor = study.EndpointReplaced, "another container takes the place of the one behind the published port, which is removed", &to
		e.Prepare = func(ctx context.Context) (func(context.Context) error, error) {
			if err != nil {
				return nil, err
			}
			return x.make(ctx, dir)
		}
		e.Do, e.Happened = x.replace, x.replacedBy
		all = append(all, e)
	}
	return all
}

// name is the name of the successor in messages and counters.
func (x *successor) name() string { return x.b.At + "/" + containers.Server + ".successor" }

func (x *successor) vethCounter(what string) string {
	return pathspec.CounterName(x.name(), "veth", what)
}

func (x *successor) bridgeCounter(what string) string {
	return pathspec.CounterName(x.name(), x.b.bridge, what)
}

func (x *successor) publishedCounter(of string) string {
	return pathspec.CounterName(of, "port", "published")
}

// ordered launches the agent of the successor.
func (x *successor) ordered(dir string) agent.Ordered {
	within := func() *engine.Container {
		if b := x.serving.Load(); b != nil {
			return b.container
		}
		return nil
	}
	return agent.Ordered{Dir: dir, Within: driver.EventTimeout(), ExitReason: func() string {
		if c := within(); c != nil {
			ctx, cancel := context.WithTimeout(context.Background(), agent.HandshakeTimeout())
			defer cancel()
			if why := c.Cause(ctx, driver.EventTimeout()); why != "" {
				return why
			}
		}
		return "its process has ended"
	}, Kill: func(ctx context.Context) error {
		if c := within(); c != nil {
			return c.Remove(ctx)
		}
		return nil
	}}
}

// state reads what shows the events.
func (x *successor) state(ctx context.Context) (driver.Counters, error) {
	out, err := x.restart.state(ctx)
	if err != nil {
		return nil, err
	}
	if out[x.publishedCounter(x.server.At)], err = x.published(ctx, x.server.container); err != nil {
		return nil, err
	}
	if x.replaces {
		out[x.publishedCounter(x.name())] = 0
	}
	if x.next != nil {
		if out[x.publishedCounter(x.name())], err = x.published(ctx, x.next); err != nil {
			return nil, err
		}
	}
	return out, x.readDevices(ctx, out)
}

// published reads at how many addresses and protocols the engine says that a container has the port of the first server.
func (x *successor) published(ctx context.Context, c *engine.Container) (uint64, error) {
	n, err := c.Publishes(ctx, x.server.port)
	return uint64(n), err //nolint:gosec // a count
}

// readDevices reads what the devices that are the successor's have carried.
func (x *successor) readDevices(ctx context.Context, into driver.Counters) error {
	var veth, bridge pathspec.Link
	if x.ended {
		now, err := x.readBridge(ctx)
		if err != nil {
			return err
		}
		if bridge = now.link; now.index == x.bridge.index {
			bridge.TxBytes -= x.bridge.link.TxBytes
			bridge.RxBytes -= x.bridge.link.RxBytes
		}
	}
	if b := x.serving.Load(); b != nil {
		name := b.veth.Name
		all, err := x.stack.NamespaceStack.Links(ctx, []string{name})
		if err != nil {
			return err
		}
		veth = all[name]
	}
	into[x.vethCounter("tx_bytes")], into[x.vethCounter("rx_bytes")] = veth.TxBytes, veth.RxBytes
	into[x.bridgeCounter("tx_bytes")], into[x.bridgeCounter("rx_bytes")] = bridge.TxBytes, bridge.RxBytes
	return nil
}

// readBridge reads the bridge of the server's host. An engine that is restarted may make another one.
func (x *successor) readBridge(ctx context.Context) (r bridgeReading, err error) {
	all, err := x.stack.NamespaceStack.Links(ctx, []string{x.b.bridge})
	if err != nil {
		return r, err
	}
	r.link = all[x.b.bridge]
	return r, x.b.ns.Do(func() error {
		device, err := net.InterfaceByName(x.b.bridge)
		if err == nil {
			r.index = device.Index
		}
		return err
	})
}

// endOf keeps what the devices of containers that are about to end have carried, and what their proxies have used.
func (x *successor) endOf(ctx context.Context, servers ...*box) (err error) {
	if err := x.remember(); err != nil {
		return err
	}
	if x.bridge, err = x.readBridge(ctx); err != nil {
		return err
	}
	names := []string{x.b.bridge}
	for _, b := range servers {
		names = append(names, b.veth.Name)
	}
	x.ended = true
	return x.stack.end(ctx, names...)
}

// adopt puts the container that has taken the place of another one, or the same one that was started again, in the place of that on the path.
func (x *successor) adopt(was *box, c *engine.Container) (err error) {
	b := *was
	b.container = c
	if b.ns, err = c.Namespace(); err != nil {
		return err
	}
	x.spaces = append(x.spaces, was.ns) // which is read until the path is closed
	b.Stack = pathspec.NamespaceStack{NS: b.ns}
	for i, o := range x.boxes.all {
		if o == was {
			x.boxes.all[i] = &b
		}
	}
	b.address = netip.Addr{}
	if b.address, err = b.addr(); err != nil {
		return err
	}
	if err := errors.Join(x.boxes.segmentation(&b), x.boxes.plug(&b, x.b.Place, x.b.ns)); err != nil {
		return err
	}
	if was == x.server {
		x.serving.Store(&b)
	}
	return nil
}

// share has the agent of the successor scheduled like that of every other server, as soon as it runs.
func (x *successor) share(ctx context.Context) error {
	for {
		moved, held, err := x.b.engine.ShareCPU(x.serving.Load().container)
		if err != nil || held || moved > 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the agent of %s: %w", x.name(), context.Cause(ctx))
		case <-time.After(sharedPoll):
		}
	}
}

// make makes the container that is to take the place of the first server's.
func (x *successor) make(ctx context.Context, dir string) (undo func(context.Context) error, err error) {
	x.nextSpec = x.server.spec
	x.nextSpec.Name, x.nextSpec.Standby = x.server.spec.Name+"-successor", dir
	if x.next, err = x.b.engine.Create(ctx, x.nextSpec); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if x.ended {
			return nil // it goes with the path
		}
		made := x.next
		x.next = nil
		return made.Remove(ctx)
	}, nil
}

// replace removes the first server's container and starts the other one, as docker compose up does after a change: both cannot publish the port.
func (x *successor) replace(ctx context.Context) (undo func(context.Context) error, err error) {
	undo = func(context.Context) error { return x.renewUsed() }
	if err := x.endOf(ctx, x.server); err != nil {
		return undo, err
	}
	if err := x.server.container.Remove(ctx); err != nil {
		return undo, err
	}
	if err := x.next.Start(ctx, x.nextSpec); err != nil {
		return undo, x.b.engine.Explain(err)
	}
	if err := x.adopt(x.server, x.next); err != nil {
		return undo, err
	}
	return undo, errors.Join(x.share(ctx), x.renewed())
}

// replacedBy checks that the engine publishes the port for the other container alone.
func (x *successor) replacedBy(before, after driver.Counters) error {
	if err := driver.Replaced(x.publishedCounter(x.server.At), x.publishedCounter(x.name()))(before, after); err != nil {
		return err
	}
	return x.serves(before, after)
}

// serves checks that traffic reached the successor, and through the rules.
func (x *successor) serves(before, after driver.Counters) error {
	return errors.Join(driver.Moved(before, after, x.vethCounter("tx_bytes"), 1), x.translate(before, after))
}

// again restarts the engine, with which the containers of its host end and start again.
func (x *successor) again(ctx context.Context) (undo func(context.Context) error, err error) {
	undo = func(context.Context) error {
		if x.old != 0 {
			return nil // the path is lost
		}
		return x.renewUsed()
	}
	all := x.servers()
	if err := x.endOf(ctx, all...); err != nil {
		return undo, err
	}
	if err := x.begin(); err != nil {
		return undo, err
	}
	if err := x.b.engine.AwaitRestart(ctx, x.old); err != nil {
		return undo, err
	}
	for _, b := range all {
		if err := x.runs(ctx, b); err != nil {
			return undo, err
		}
	}
	x.old = 0
	return undo, errors.Join(x.b.ns.Tuning().Segmentation(x.b.bridge, x.lab.Spec.Offload), x.share(ctx), x.renewed())
}

// startPoll is the time between two looks for a container that an engine starts.
const startPoll = 10 * time.Millisecond

// runs waits until a container runs again, which an engine has started before it answers.
func (x *successor) runs(ctx context.Context, b *box) error {
	for {
		s, err := b.container.State(ctx)
		if err != nil {
			return err
		}
		if s.Running {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for container %s to start again: %w", b.container.Name, context.Cause(ctx))
		case <-time.After(startPoll):
		}
	}
	again, err := b.container.Renew(ctx, b.spec)
	if err != nil {
		return err
	}
	return x.adopt(b, again)
}

// startedAgain checks that another dockerd runs, and that it has started the container of the server again.
func (x *successor) startedAgain(before, after driver.Counters) error {
	if err := x.otherDaemon(before, after); err != nil {
		return err
	}
	first := func(in driver.Counters) (all []string) {
		for name := range in {
			if strings.HasPrefix(name, x.processPrefix(x.server)) {
				all = append(all, name)
			}
		}
		return all
	}
	for _, name := range first(before) {
		if _, still := after[name]; still {
			return fmt.Errorf("%s runs as before", name)
		}
	}
	if len(first(before)) == 0 || len(first(after)) == 0 {
		return fmt.Errorf("the container %s did not run before and after it", x.server.container.Name)
	}
	return x.serves(before, after)
}
