package engines

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/linuxnet"
	"tare/internal/observe/netstack"
	"tare/internal/study"
)

// A container of the runtime runsc is a sandbox of gVisor: its kernel, the sentry, is a process of the
// host. With its own network stack, netstack, the sentry reads and writes the frames of the
// container's devices, and takes the addresses away from them, so that the host's kernel neither
// answers nor passes on what arrives there. With --network=host the sentry calls the sockets of the
// container's namespace instead.

// sandbox is the sentry of a container.
type sandbox struct {
	runtime  string // as in a study
	pid      int
	netstack bool // it has a network stack of its own
}

// The largest packet that the kernel counts as one on the way through a socket, in bytes.
const largestSegment = 64 << 10

// enclose finds the sandbox of a container, and checks that it is one of the runtime that was asked for.
func (b *box) enclose(runtime string) error {
	pids, err := b.side.engine.Processes(b.container)
	if err != nil {
		return err
	}
	b.sandbox = &sandbox{runtime: runtime, netstack: runtime == study.RuntimeRunsc}
	for _, pid := range pids {
		is, err := b.side.engine.Sentry(pid)
		if exited(err) {
			continue
		}
		if err != nil {
			return err
		}
		if !is {
			exe, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
			return fmt.Errorf("container %s was to run in a sandbox of gVisor, but its process %d is %s and not %s: it uses the kernel of the host; make runsc gVisor's program",
				b.At, pid, exe, b.side.engine.Runsc)
		}
		args := argsOf(pid)
		if b.sandbox.pid == 0 && len(args) > 0 && args[0] == "runsc-sandbox" {
			b.sandbox.pid = pid
			if host := slices.Contains(args, "--network=host"); host == b.sandbox.netstack {
				return fmt.Errorf("the sandbox of container %s was started with another network than that of the runtime %s", b.At, runtime)
			}
		}
	}
	if b.sandbox.pid == 0 {
		return fmt.Errorf("find the sandbox of container %s: none of its %d processes is one", b.At, len(pids))
	}
	if b.sandbox.netstack {
		b.Stack = pathspec.DevicesOnly{NS: b.ns}
	}
	return nil
}

// sentryCounter returns the name of the counter of the CPU time of a container's sandbox.
func (b *box) sentryCounter() string { return pathspec.CounterName(b.At, "sentry", "run_ns") }

// proveSandbox adds what proves that the sandbox carries the traffic of its pair: the sentry works, and the
// sockets of its namespace have no part in it with netstack, and carry all of it without.
func (b *box) proveSandbox(p *pathspec.Path) error {
	busy := b.sentryCounter()
	sockets := pathspec.CounterName(b.At, "kernel_sockets", "packets")
	p.ReadRunTime(busy, "the sandbox of container "+b.At, b.sandbox.pid)
	p.AddReader(func(_ context.Context, into driver.Counters) (err error) {
		into[sockets], err = socketPackets(b.ns)
		return err
	})
	p.AddRules(driver.Rule{Counter: busy, Expect: driver.ProcessBusy, Pair: b.pair})
	if b.sandbox.netstack {
		p.AddRules(driver.Rule{Counter: sockets, Expect: driver.NoMatch})
	} else {
		p.AddRules(driver.Rule{Counter: sockets, Expect: driver.BothPackets, Pair: b.pair, Size: largestSegment})
	}
	return p.Check(func() error { return outside(b) })
}

// outside returns an error if this program runs in the namespace of a sandboxed container without
// being in the sandbox.
func outside(b *box) error {
	all, err := containerProcesses(b.ns)
	if err == nil && len(all) > 0 {
		err = fmt.Errorf("process %d of container %s runs outside its sandbox", all[0].pid, b.At)
	}
	return err
}

// socketPackets returns how many packets the sockets of a namespace have sent and received, of TCP and
// UDP over both families.
func socketPackets(ns *linuxnet.NS) (sum uint64, err error) {
	var r netstack.Reading
	err = ns.Do(func() error {
		r, err = netstack.ReadProtocols("/proc")
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read what the sockets of namespace %s have carried: %w", ns.Name(), err)
	}
	for _, name := range []string{"Tcp.InSegs", "Tcp.OutSegs", "Udp.InDatagrams", "Udp.OutDatagrams", "Udp6.InDatagrams", "Udp6.OutDatagrams"} {
		sum += r.Counters[name]
	}
	return sum, nil
}

// sandboxed starts agents in the sandbox of a container.
type sandboxed struct {
	container *engine.Container
	engine    *private.Engine
}

// Launch starts an agent in the sandbox, after the sandbox was moved where the agents of every other
// mode are scheduled.
func (t sandboxed) Launch(ctx context.Context, args ...string) (transport.Conn, error) {
	if err := t.engine.ShareSandbox(t.container); err != nil {
		return nil, err
	}
	return t.container.Launch(ctx, args...)
}

// checkRuntime rejects what cannot be built in sandboxes.
func checkRuntime(o driver.Order, c private.Config) error {
	if !c.Sandboxed() {
		return nil
	}
	unsupported := func(format string, args ...any) error {
		return &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf(format, args...)}
	}
	own := c.Runtime == study.RuntimeRunsc
	if o.Mode == "docker/host" && own {
		return unsupported("a sandbox of gVisor with its own network stack does not use the network of its host; use runtime: %s", study.RuntimeRunscHostnet)
	}
	for _, part := range []string{partSeccomp, partCgroup} {
		if o.Without(part) {
			return unsupported("%s: off applies to agents that are processes of the host, and with runtime: %s they are in a sandbox", part, c.Runtime)
		}
	}
	if own && o.Without(partResolver) {
		return unsupported("%s: off has no effect with runtime: %s, whose own network stack does not pass the rules of the container's namespace", partResolver, c.Runtime)
	}
	return nil
}

// deviceWith returns the container's device with an address of the engine. A sandbox with its own
// network stack has taken the addresses away from the devices, and left their hardware addresses.
func (b *box) deviceWith(addr netip.Addr) (string, error) {
	if b.sandbox == nil || !b.sandbox.netstack {
		return b.ns.Links().DeviceWith(addr)
	}
	devices, err := b.ns.Links().Devices()
	if err != nil {
		return "", err
	}
	for _, e := range b.container.Endpoints {
		if !slices.ContainsFunc(e.Addresses, func(p netip.Prefix) bool { return p.Addr() == addr }) {
			continue
		}
		for _, d := range devices {
			if own, err := b.ns.Links().HardwareAddr(d); err == nil && own.String() == e.MAC {
				return d, nil
			}
		}
	}
	return "", fmt.Errorf("find the device with address %s in container %s: no device has the hardware address that the engine gave it", addr, b.At)
}
