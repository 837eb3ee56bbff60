package engines_test

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tare/internal/driver/engines"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/observe"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// short is a connection that bypasses a path.
type short struct {
	name, mode string
	open       func(*drivertest.Setup) error
	want       string // the counter or rule that detects it
}

// shorts are those of paths over the default bridge, or over none. Each keeps the traffic
// flowing, because a broken path would prove nothing about verification.
var shorts = []short{
	{"docker-proxy for DNAT, the rule passed by", "docker/published", ruleByPassed, "b/dnat:5201.packets"},
	{"docker-proxy for DNAT, the rule gone", "docker/bridge", ruleGone, "b/dnat:5201.packets"},
	{"a route round the bridge", "docker/published", routeRoundBridge, "b/server.veth.tx_bytes"},
	{"no masquerade, routed back", "docker/bridge", withoutMasquerade, "a/docker0.masquerade.packets"},
	{"docker-proxy for DNAT on a user-defined network", "docker/nat", ruleByPassed, "b/dnat:5201.packets"},
	{"docker-proxy for DNAT to a task", "docker/service-host-port", ruleByPassed, "b/dnat:5201.packets"},
	{"the published port for direct routing", "docker/direct-routing", throughPort, "b/dnat:5201.packets"},
	{"DNAT for docker-proxy", "docker/userland-proxy", translatedLoopback, "a/docker-proxy:5201.run_ns"},
	{"a cable between the containers", "docker/colocated", cable, "a/client.veth"},
	{"a cable to the host", "docker/to-host", cable, "a/client.veth"},
	{"a cable beside the underlay", "docker/host", cable, "a/eth0.tx_bytes"},
}

func TestShortcutsAreVoid(t *testing.T)        { areVoid(t, shorts[:2]) }
func TestEnginesShortcutsAreVoid(t *testing.T) { areVoid(t, shorts[2:]) }

func areVoid(t *testing.T, some []short) {
	kinds := []string{"tcp_stream", "tcp_rr", "udp_stream"}
	for _, tt := range some {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			drivertest.NeedEngine(t)
			s := drivertest.Provision(t, engines.Docker{}, tt.mode, nil)
			before := table(t)
			for _, kind := range kinds {
				if _, _, err := s.Trial(t, drivertest.Params(kind), false); err != nil {
					t.Fatalf("before the shortcut, %s: %v", kind, err)
				}
			}
			// Its engines and their proxies belong to the mode; the endpoints of the trials
			// do not.
			spent := table(t).CPUTime(before, observe.ProcessSet{Roots: s.Path.Processes()})
			_, engine := spent["dockerd"]
			_, proxy := spent["docker-proxy"]
			ends := slices.ContainsFunc(slices.Collect(maps.Keys(spent)), func(name string) bool { return name == "tare" || strings.HasSuffix(name, ".test") })
			if !engine || ends || tt.mode == "docker/userland-proxy" && !proxy {
				t.Errorf("processes of the mode: %v", spent)
			}
			must.Do(t, tt.open(s))
			s.WaitReachable(t)
			for _, kind := range kinds {
				s.Void(t, drivertest.Params(kind), tt.want)
			}
		})
	}
}

func table(t *testing.T) observe.Table {
	t.Helper()
	now := must.Get(observe.ReadTable("/proc"))(t)
	return now
}

// run runs a program in a namespace.
func run(ns *linuxnet.NS, args ...string) error {
	var words strings.Builder
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // it exits at once
	cmd.Stdout, cmd.Stderr = &words, &words
	err := ns.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, words.String())
	}
	return nil
}

// ruleByPassed keeps the rule of the published port but bypasses it: docker-proxy listens
// and accepts the connections.
func ruleByPassed(s *drivertest.Setup) error {
	return run(s.Lab.B.NS, "iptables", "-t", "nat", "-I", "PREROUTING", "-j", "RETURN")
}

// throughPort translates the container's own address to the published port of its host.
func throughPort(s *drivertest.Setup) error {
	own, port := s.Path.Pairs[0].Server.Listen[0], netip.AddrPortFrom(s.Lab.B.Addr[0], 5201)
	var errs []error
	for _, proto := range []string{"tcp", "udp"} {
		errs = append(errs, run(s.Lab.A.NS, "iptables", "-t", "nat", "-A", "OUTPUT", "-p", proto, "-d", own.Addr().String(), "-j", "DNAT", "--to-destination", port.String()))
	}
	return errors.Join(errs...)
}

// ruleGone removes the rules of all published ports.
func ruleGone(s *drivertest.Setup) error {
	return run(s.Lab.B.NS, "iptables", "-t", "nat", "-F", "DOCKER")
}

// cable connects the namespaces of both endpoints directly and routes the dialled address
// over that link.
func cable(s *drivertest.Setup) error {
	from, to := engines.EndNamespaces(s.Path)
	dial := s.Path.Pairs[0].Server.Dial[0].Addr()
	return errors.Join(
		from.Links().Veth(linuxnet.Device{Name: "cable0"}, to, linuxnet.Device{Name: "cable1"}),
		from.Links().Up("cable0"), to.Links().Up("cable1"),
		from.Routes().Address("cable0", netip.MustParsePrefix("198.19.255.1/24")),
		to.Routes().Address("cable1", netip.MustParsePrefix("198.19.255.2/24")),
		from.Routes().Route(netip.PrefixFrom(dial, 32), netip.MustParseAddr("198.19.255.2"), "cable0"),
	)
}

// routeRoundBridge adds a second link between the server's container and its host, and a
// host route over it.
func routeRoundBridge(s *drivertest.Setup) error {
	_, server := engines.EndNamespaces(s.Path)
	own := s.Path.Pairs[0].Server.Listen[0].Addr()
	b := s.Lab.B.NS
	return errors.Join(
		b.Links().Veth(linuxnet.Device{Name: "side0"}, server, linuxnet.Device{Name: "side1"}),
		b.Links().Up("side0"), server.Links().Up("side1"),
		b.Routes().Address("side0", netip.MustParsePrefix("198.19.255.1/24")),
		server.Routes().Address("side1", netip.MustParsePrefix("198.19.255.2/24")),
		b.Routes().Route(netip.PrefixFrom(own, 32), netip.MustParseAddr("198.19.255.2"), "side0"),
		server.Routes().Route(netip.PrefixFrom(s.Lab.A.Addr[0], 32), netip.MustParseAddr("198.19.255.1"), "side1"),
		// The engine forwards only packets through the bridge.
		run(b, "iptables", "-I", "FORWARD", "-j", "ACCEPT"),
	)
}

// withoutMasquerade keeps the client's own address and adds a return route on b.
func withoutMasquerade(s *drivertest.Setup) error {
	return errors.Join(
		run(s.Lab.A.NS, "iptables", "-t", "nat", "-I", "POSTROUTING", "-j", "RETURN"),
		s.Lab.B.NS.Routes().Route(s.Lab.Addresses(lab.NetA, 0)[0].Masked(), s.Lab.A.Addr[0], ""),
	)
}

// translatedLoopback applies the rules of published ports to the loopback address too, as
// an engine without its userland proxy does.
func translatedLoopback(s *drivertest.Setup) error {
	a := s.Lab.A.NS
	return errors.Join(
		a.Sysctl("net/ipv4/conf/all/route_localnet", "1"),
		run(a, "iptables", "-t", "nat", "-I", "OUTPUT", "-d", "127.0.0.0/8", "-j", "DOCKER"),
		run(a, "iptables", "-t", "nat", "-I", "POSTROUTING", "-s", "127.0.0.0/8", "-o", "docker0", "-j", "MASQUERADE"),
	)
}
