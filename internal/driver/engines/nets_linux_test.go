package engines_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/driver/labdriver"
	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// one is a driver with a single mode.
type one struct {
	labdriver.Driver
	mode string
}

func (d one) Modes() []driver.Mode { return []driver.Mode{{ID: d.mode, Baseline: "host"}} }

// A plugin's networks are measured like Docker's own, whether they are created for the run
// or exist before it.
func TestEnginesPluginConforms(t *testing.T) {
	t.Parallel()
	drivertest.NeedEngine(t)
	made := engines.Prepared(func(_ context.Context, s engines.Stage) error { return startPlugins(t, s) })
	there := engines.Prepared(func(ctx context.Context, s engines.Stage) error {
		spec := engine.NetworkSpec{Run: s.Lab.Spec.Claim.ID, Name: "fabric", Driver: pluginName, Subnet: s.Lab.Addresses(lab.NetOverlay, 0)[0]}
		return errors.Join(startPlugins(t, s), onBoth(ctx, s, spec))
	})
	drivertest.Conformance(t, one{made, "docker/driver:" + pluginName}, 1)
	drivertest.Conformance(t, one{there, "docker/network:fabric"}, 2)
}

// A Swarm's network is one network on both engines, and is joined as one, even if all
// announcements between the engines are lost.
func TestEnginesNetworkOfASwarm(t *testing.T) {
	t.Parallel()
	drivertest.NeedEngine(t)
	lifted := make(chan bool, 1)
	there := engines.Prepared(func(ctx context.Context, s engines.Stage) error {
		if err := private.Swarm(ctx, s.Lab, s.A, s.B); err != nil {
			return err
		}
		if _, err := s.A.CreateNetwork(ctx, engine.NetworkSpec{Run: s.Lab.Spec.Claim.ID, Name: "wide", Driver: "overlay", Attachable: true}); err != nil {
			return err
		}
		if err := gossip(s, "-I", "DROP"); err != nil {
			return err
		}
		go func() { lifted <- moved(ctx, s, "wide") && gossip(s, "-D", "DROP") == nil }()
		return nil
	})
	s := drivertest.Provision(t, there, "docker/network:wide", nil)
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
		t.Error(err)
	}
	if again := fact(s.Path.Facts, "joined again"); again == "" || !<-lifted {
		t.Errorf("no end had to join again (%q), though nothing of it could be told", again)
	}
}

// gossip makes both hosts of a lab start or stop dropping a Swarm's gossip.
func gossip(s engines.Stage, change, target string) error {
	for _, h := range []*lab.Host{s.Lab.A, s.Lab.B} {
		var words bytes.Buffer
		cmd := exec.Command("iptables", "-w", change, "INPUT", "-p", "udp", "--dport", "7946", "-j", target)
		cmd.Stderr = &words
		err := h.NS.Start(cmd)
		if err == nil {
			err = cmd.Wait()
		}
		if err != nil {
			return fmt.Errorf("%s on host %s: %w: %s", change, h.Name, err, words.String())
		}
	}
	return nil
}

// moved waits until a container on a network has another address than before, which means
// that it was recreated on the same engine.
func moved(ctx context.Context, s engines.Stage, network string) bool {
	had := map[string]netip.Addr{}
	for ctx.Err() == nil {
		for _, e := range []*private.Engine{s.A, s.B} {
			n, err := e.Network(ctx, network)
			if err != nil {
				continue // a worker knows the network only while the container is on it
			}
			for name, at := range n.Joined {
				if was, known := had[e.Name+name]; known && was != at {
					return true
				}
				had[e.Name+name] = at
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

// A driver whose networks belong to a Swarm gets one.
func TestEnginesDriverOfASwarm(t *testing.T) {
	t.Parallel()
	drivertest.NeedEngine(t)
	s := drivertest.Provision(t, engines.Docker{}, "docker/driver:overlay", nil)
	if _, _, err := s.Trial(t, drivertest.Params("tcp_rr"), false); err != nil {
		t.Error(err)
	}
	must.Equal(t, "swarm", fact(s.Path.Facts, "network scope"))
}

// Options of the study reach the plugin and take effect.
func TestEnginesOptionsReachThePlugin(t *testing.T) {
	drivertest.NeedEngine(t)
	d := engines.Prepared(func(_ context.Context, s engines.Stage) error { return startPlugins(t, s) })
	spec := drivertest.Spec(t, nil)
	s := drivertest.Build(t, d, drivertest.SpecOn(spec, driver.Order{Mode: "docker/driver:" + pluginName, Pairs: 1, Options: map[string]string{optionMTU: "1377", optionVNI: "4711"}}))
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
		t.Error(err)
	}
	top := must.Get(s.Path.Topology())(t)
	seen := 0
	for _, n := range top.Nodes {
		switch {
		case n.Kind == "veth" && n.Sandbox != "":
			seen++
			if got := fact(n.Facts, "mtu"); got != "1377" {
				t.Errorf("%s in %s has MTU %s, asked for 1377", n.Label, n.Sandbox, got)
			}
		case n.Kind == "network":
			seen++
			if got := fact(n.Facts, "option "+optionVNI); got != "4711" {
				t.Errorf("the engine says the option is %q", got)
			}
		}
	}
	if seen != 4 {
		t.Errorf("the topology shows %d of two interfaces and two networks: %+v", seen, top.Nodes)
	}
	for _, h := range []*lab.Host{s.Lab.A, s.Lab.B} {
		if got := tunnels(t, h); !slices.Equal(got, []overlay{{mtu: 1377, vni: 4711}}) {
			t.Errorf("host %s has tunnels %+v", h.Name, got)
		}
	}
}

// tunnels returns the VXLAN devices of a host.
func tunnels(t *testing.T, h *lab.Host) (found []overlay) {
	t.Helper()
	must.Do(t, h.NS.Do(func() error {
		links, err := netlink.LinkList()
		for _, l := range links {
			if v, ok := l.(*netlink.Vxlan); ok {
				found = append(found, overlay{mtu: v.MTU, vni: v.VxlanId})
			}
		}
		return err
	}))
	return found
}

func fact(facts []result.Fact, name string) string {
	for _, f := range facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// onBoth creates the same network on both engines.
func onBoth(ctx context.Context, s engines.Stage, spec engine.NetworkSpec) error {
	for _, e := range []*private.Engine{s.A, s.B} {
		if _, err := e.CreateNetwork(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

// startPlugins runs the plugin next to both engines until the test ends.
func startPlugins(t *testing.T, s engines.Stage) error {
	a, b := s.Lab.A, s.Lab.B
	return errors.Join(startPlugin(t, s.A, a, b.Addr[0]), startPlugin(t, s.B, b, a.Addr[0]))
}

func startPlugin(t *testing.T, e *private.Engine, h *lab.Host, peer netip.Addr) error {
	socket := filepath.Join(e.Plugins(), pluginName+".sock")
	cmd := exec.Command("/proc/self/exe", pluginCommand, socket, h.Addr[0].String(), peer.String())
	var words bytes.Buffer // read after it has exited
	cmd.Stderr = &words
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := h.NS.Start(cmd); err != nil {
		return fmt.Errorf("start the plugin on host %s: %w", h.Name, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		in.Close()
		if err := <-ended; err != nil {
			t.Errorf("plugin on host %s: %v: %s", h.Name, err, words.String())
		}
	})
	for {
		c, err := net.Dial("unix", socket)
		if err == nil {
			return c.Close()
		}
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("the plugin on host %s ended: %w: %s", h.Name, err, words.String())
		case <-t.Context().Done():
			return t.Context().Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
