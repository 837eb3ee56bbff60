package existing

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/engine"
	"tare/internal/engine/locate"
	"tare/internal/observe/netstack"
	"tare/internal/result"
)

// A desktop is a machine whose engine runs in a virtual machine on it: Docker Desktop,
// Colima, Lima, Rancher Desktop. The engine is reached as if it were local, but has another
// kernel and another network. A published port is then measured as its users see it: the
// client is a process of the desktop, and what the product puts between is on the path.

// The hosts of a desktop: the desktop itself, and the virtual machine of its engine.
const (
	desktopName = "a"
	guestName   = "b"
)

// machineIdentity is what distinguishes this machine from that of an engine; what is
// unknown is empty or 0.
type machineIdentity struct {
	system string // runtime.GOOS
	kernel string // release
	boot   string // boot id of the kernel
	memory uint64 // bytes
}

// thisMachine returns the identity of this machine. Only Linux runs an engine directly, so
// elsewhere the name of the system suffices.
func thisMachine() machineIdentity {
	m := machineIdentity{system: runtime.GOOS, boot: netstack.Boot("/proc")}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.kernel = strings.TrimSpace(string(text))
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return m
	}
	if f := strings.Fields(string(text)); len(f) > 1 && f[0] == "MemTotal:" {
		kib, _ := strconv.ParseUint(f[1], 10, 53) // 0 is unknown
		m.memory = kib << 10
	}
	return m
}

// runs reports whether this machine can be the one that an engine runs on, by what the
// engine reports.
func (m machineIdentity) runs(e *engine.Engine) bool {
	switch {
	case m.system != e.Versions.OS:
		return false
	case strings.Contains(e.Machine.System, "Docker Desktop"): // also in WSL, with the same kernel but another network
		return false
	case m.kernel != "" && e.Versions.Kernel != "" && m.kernel != e.Versions.Kernel:
		return false
	}
	return m.memory == 0 || e.Machine.Memory == 0 || m.memory == e.Machine.Memory
}

// desktop reports whether the only engine runs in a virtual machine on this machine. Before
// Open it is known on systems only that run no engine themselves.
func (d *Driver) desktop() bool {
	if len(d.hosts) != 1 || d.hosts[0].Machine != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.open[0]; e != nil {
		return locate.IsLocal(e.Address) && (d.guest[0] || !d.here.runs(e))
	}
	return d.here.system != "linux" && locate.Local(d.hosts[0].Target)
}

// onThisMachine reports whether the engine of a host runs directly on this machine, as far
// as that is known.
func (d *Driver) onThisMachine(i int) bool {
	if m := d.hosts[i].Machine; m != nil {
		return m.Local
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.open[i]; e != nil {
		return strings.HasPrefix(e.Address, "unix://") && !d.guest[i] && d.here.runs(e)
	}
	return d.here.system == "linux" && locate.Local(d.hosts[i].Target)
}

// recognise compares the kernel that a host's monitor reads with that of this machine, which
// finds a virtual machine that an engine does not report.
func (d *Driver) recognise(ctx context.Context, i int, h *remote.Host) error {
	boot, _, err := h.Monitor.CPU(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.guest[i] = d.here.boot != "" && boot != d.here.boot
	return nil
}

// name returns the name of an engine's host.
func (d *Driver) name(i int) string {
	if d.hosts[i].Name == "" && d.desktop() {
		return guestName
	}
	if d.hosts[i].Name == "" {
		return string(rune('a' + i))
	}
	return d.hosts[i].Name
}

// openDesktop starts the agent that reads the desktop.
func (d *Driver) openDesktop(ctx context.Context, run string) (*remote.Host, error) {
	return remote.Open(ctx, transport.Local{}, run, desktopName, netip.Addr{})
}

// loopback is where the published ports of a desktop's engine are reached.
func loopback() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }

// onLoopback: two processes of the desktop, through its loopback device.
func (p *path) onLoopback(ctx context.Context) error {
	at := netip.AddrPortFrom(loopback(), pathspec.ServerChoosesPort)
	return p.eachPair(ctx, p.hostEndpoint, p.hostEndpoint, func(pair int, from, to *endpoint) error {
		if pair == 1 {
			p.SetSteps(slices.Concat([]pathspec.Step{from.process()}, p.loopbackSteps(ctx), []pathspec.Step{pathspec.ProvenBy(to.process(), p.b.At+"/connections")})...)
		}
		return p.addPair(ctx, from, to, at, at, remote.OneConnection)
	})
}

// loopbackSteps returns the loopback device of the desktop, with lower bounds for what it
// carries. It is left out where it cannot be read. Windows counts nothing on it.
func (p *path) loopbackSteps(ctx context.Context) []pathspec.Step {
	none := []pathspec.Step{pathspec.RuleStep(p.a.Place, "loopback", "loopback")}
	if p.driver.here.system == "windows" {
		return none
	}
	links, _, err := p.a.Monitor.Links(ctx, netip.Addr{})
	if err != nil {
		return none
	}
	for _, l := range links {
		if l.Loopback {
			lo := pathspec.Device{Name: l.Name}
			p.read.MustMoveAtLeast(pathspec.AllPairs, p.a.Place, lo, driver.BothAtLeast, driver.BothAtLeast)
			return []pathspec.Step{pathspec.DeviceStep(p.a.Place, lo)}
		}
	}
	return none
}

// fromDesktop: a process of the desktop, and a port that the engine publishes on all
// addresses, as docker run -p PORT:PORT does. The client dials it on the desktop's loopback.
func (p *path) fromDesktop(ctx context.Context) error {
	return p.eachPair(ctx, p.hostEndpoint, p.publishAt(netip.IPv4Unspecified()), func(pair int, from, to *endpoint) error {
		dial := netip.AddrPortFrom(loopback(), to.published.Port())
		x := remote.Exchange{Client: &from.Endpoint, Server: &to.Endpoint, Listen: netip.AddrPortFrom(to.Addr, pathspec.FirstPort), Dial: dial}
		found, err := p.read.FindConnectivity(ctx, x)
		if err != nil {
			return notForwarded(dial, err)
		}
		x.Want = found.TCP
		plug, err := p.carriesForwarded(ctx, to, pair, found)
		if err != nil {
			return err
		}
		if pair == 1 {
			p.port(dial)
			p.forwardFacts(found)
			forward := pathspec.ProvenBy(pathspec.RuleStep(p.b.Place, "forward", "port of the desktop"), p.b.At+"/connections")
			p.SetSteps(slices.Concat([]pathspec.Step{from.process()}, p.loopbackSteps(ctx), []pathspec.Step{forward}, pathspec.Reversed(to.steps(plug)))...)
		}
		p.read.AddFoundPair(x)
		return nil
	})
}

// notForwarded explains that a published port is not reached on this machine's loopback.
func notForwarded(dial netip.AddrPort, err error) error {
	if !remote.IsUnreachable(err) {
		return err
	}
	return fmt.Errorf("the engine runs on another kernel than this machine, and its published port is not reached at %s: %w; "+
		"if it is a virtual machine on this machine, let it forward published ports; if it is another machine, name it by its own address (ssh:// or tcp://)", dial, err)
}

// carriesForwarded requires that the server's device, and its veth in the virtual machine,
// carry the pair's traffic. If it is relayed, another program packetises what the client
// sends, so only the payload of that is known. What the server sends is counted by its own
// kernel, so it is bounded on both sides.
func (p *path) carriesForwarded(ctx context.Context, to *endpoint, pair int, found remote.Found) (remote.Attachment, error) {
	if found.TCP == remote.OneConnection && found.UDP == remote.OneConnection {
		return p.read.MustCarry(ctx, &to.Endpoint, pair, false)
	}
	plug, err := p.read.FindAttachment(ctx, &to.Endpoint)
	if err != nil {
		return plug, err
	}
	eth := pathspec.Device{Name: to.Link.Name}
	must := func(at pathspec.Place, dev pathspec.Device, sent, received string) {
		p.ReadDevice(at, dev)
		p.AddRules(
			driver.Rule{Counter: dev.Counter(at, sent), Expect: driver.Reverse, Pair: pair},
			driver.Rule{Counter: dev.Counter(at, received), Expect: driver.ForwardAtLeast, Pair: pair})
	}
	must(to.Place, eth, "tx_bytes", "rx_bytes")
	if plug.IsVeth {
		must(p.b.Place, plug.Veth, "rx_bytes", "tx_bytes")
	}
	return plug, nil
}

// forwardFacts records what is between the desktop and the virtual machine.
func (p *path) forwardFacts(found remote.Found) {
	say := func(name string, c remote.Connectivity) {
		value := "relayed: the server sees a connection of another program"
		if c == remote.OneConnection {
			value = "translated: the server sees the client's own connection"
		}
		p.AddFacts(result.Fact{Name: name, Value: value})
	}
	say("TCP to the published port", found.TCP)
	if found.NoUDP != nil {
		p.AddFacts(result.Fact{Name: "UDP to the published port", Value: "not forwarded: " + found.NoUDP.Error()})
		return
	}
	say("UDP to the published port", found.UDP)
}

// Machine describes the machine of the engine of a host, as far as the engine reports it.
func (d *Driver) Machine(i int) []result.Fact {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.open[i]
	if e == nil {
		return nil
	}
	facts := []result.Fact{{Name: "distribution", Value: e.Machine.System}, {Name: "kernel", Value: e.Versions.Kernel}, {Name: "hostname", Value: e.Machine.Name}}
	return slices.DeleteFunc(facts, func(f result.Fact) bool { return f.Value == "" })
}

// sameKernel reports whether an engine runs on the kernel of this machine.
func (d *Driver) sameKernel(e *engine.Engine) bool {
	return d.here.kernel != "" && d.here.kernel == e.Versions.Kernel
}

// desktopPrograms are the programs of a desktop that run the virtual machine of an engine or
// forward its ports, as the kernel truncates their names.
func desktopPrograms() []string {
	return []string{"com.docker.back", "com.docker.virt", "vpnkit", "limactl", "colima", "qemu-system-x86", "qemu-system-aar", "rancher-desktop"}
}
