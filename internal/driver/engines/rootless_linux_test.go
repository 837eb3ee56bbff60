package engines_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/driver/labdriver"
	"tare/internal/engine/private"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// needRootless is for tests of a rootless engine with these drivers; see testneed.
func needRootless(t *testing.T, asked study.Engine) {
	t.Helper()
	needCurrent(t)
	c, err := private.ConfigOf(asked)
	if err == nil {
		c.Rootless, err = c.Installation.RootlessOf(asked, 0)
	}
	if err == nil {
		err = c.MissingRequirements(t.Context())
	}
	if err != nil {
		testneed.Missing(t, testneed.Rootless, err)
	}
}

// An ordinary user's engine with Docker's default drivers.
func TestEnginesRootless(t *testing.T) {
	t.Parallel()
	asked := study.Engine{Lab: study.CurrentEngine}
	needRootless(t, asked)
	drivertest.Conformance(t, on{engines.Docker{}, asked, []string{"docker/rootless", "docker/rootless-out"}}, 1)
	o := drivertest.Order(t, "docker/rootless", 2, nil)
	o.Engine = asked
	s := drivertest.Build(t, engines.Docker{}, o)
	s.ConformsPairs(t)
	s.ConformsFanIn(t, "http", false)
	// Of two streams that share slirp4netns, one may get nothing for seconds.
	o = drivertest.Order(t, "docker/rootless-out", 2, nil)
	o.Engine, o.Engine.RootlessNet = asked, study.RootlessGvisor
	s = drivertest.Build(t, engines.Docker{}, o)
	s.ConformsPairs(t)
	s.ConformsFanIn(t, "http", false)
}

// rootlessDrivers is a combination of RootlessKit's drivers, and what a path with it must have.
type rootlessDrivers struct {
	network, port string
	proxy         string // the part that is left out; may be empty
	seen          string // what the fact on the client's address has
	busy, idle    string // counters of processes; idle may be empty
	translated    string // what the DNAT rule must show
}

// Each combination is built and proven, by the process and the device that it uses, and the server
// sees the address that the documentation says.
func TestEnginesRootlessDrivers(t *testing.T) {
	t.Parallel()
	for _, d := range []rootlessDrivers{
		{study.RootlessSlirp, study.RootlessBuiltin, "", "docker0 of the engine", "b/rootlesskit.run_ns", "b/slirp4netns.run_ns", "unmet"},
		{study.RootlessSlirp, study.RootlessBuiltin, "proxy", "the client's own", "b/rootlesskit.run_ns", "b/slirp4netns.run_ns", "connections"},
		{study.RootlessSlirp, study.RootlessSlirp, "", "the client's own", "b/slirp4netns.run_ns", "", "connections"},
		{study.RootlessGvisor, study.RootlessBuiltin, "", "docker0 of the engine", "b/rootlesskit.run_ns", "", "unmet"},
		{study.RootlessGvisor, study.RootlessGvisor, "", "RootlessKit's network driver", "b/rootlesskit.run_ns", "", "connections"},
	} {
		t.Run(strings.Join([]string{d.network, d.port, d.proxy}, "-"), func(t *testing.T) {
			asked := study.Engine{Lab: study.CurrentEngine, RootlessNet: d.network, RootlessPort: d.port}
			needRootless(t, asked)
			o := drivertest.Order(t, "docker/rootless", 1, nil)
			o.Engine = asked
			if d.proxy != "" {
				o.With = without(d.proxy)
			}
			s := proven(t, o, d.busy, d.idle)
			if !slices.ContainsFunc(s.Path.Rules, func(r driver.Rule) bool {
				return r.Counter == "b/rootless/dnat:5201.packets" && r.Expect.String() == d.translated
			}) {
				t.Errorf("the DNAT rule is not %s", d.translated)
			}
			must.Contain(t, fact(s.Path.Facts, "client address that the server sees"), d.seen)
		})
	}
}

// Pasta opens published ports by itself, since versions of 2023_12_04; with an older one the mode says so.
func TestEnginesRootlessPasta(t *testing.T) {
	t.Parallel()
	asked := study.Engine{Lab: study.CurrentEngine, RootlessNet: study.RootlessPasta}
	needRootless(t, asked)
	o := drivertest.Order(t, "docker/rootless", 1, nil)
	o.Engine = asked
	path, err := engines.Docker{}.Provision(t.Context(), o)
	if u, is := driver.AsUnsupported(err); is {
		if !strings.Contains(u.Reason, "pasta has not opened port 5201") {
			t.Fatalf("the reason is %s", u.Reason)
		}
		testneed.Missing(t, testneed.Other, u.Reason)
	}
	must.Do(t, err)
	must.Do(t, path.Close(t.Context()))
	proven(t, o, "b/pasta.run_ns", "")
}

// Each network driver carries what a container sends.
func TestEnginesRootlessOutDrivers(t *testing.T) {
	t.Parallel()
	for network, busy := range map[string]string{study.RootlessPasta: "a/pasta.run_ns", study.RootlessGvisor: "a/rootlesskit.run_ns"} {
		t.Run(network, func(t *testing.T) {
			asked := study.Engine{Lab: study.CurrentEngine, RootlessNet: network}
			needRootless(t, asked)
			o := drivertest.Order(t, "docker/rootless-out", 1, nil)
			o.Engine = asked
			proven(t, o, busy, "")
		})
	}
}

// proven builds a mode, and requires that one process must be busy, that another one must be idle, and
// that trials are proven.
func proven(t *testing.T, o labdriver.Order, busy, idle string) *drivertest.Setup {
	t.Helper()
	s := drivertest.Build(t, engines.Docker{}, o)
	expect := map[string]string{}
	for _, r := range s.Path.Rules {
		expect[r.Counter] = r.Expect.String()
	}
	if expect[busy] != "works" || idle != "" && expect[idle] != "idles" {
		t.Errorf("the rules are %v", expect)
	}
	for _, kind := range []string{"tcp_stream", "tcp_crr", "udp_rr"} {
		if _, _, err := s.Trial(t, drivertest.Params(kind), false); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	return s
}

// The engine and its containers are an ordinary user's: no process of it is root's except the first,
// which starts the others.
func TestEnginesRootlessUser(t *testing.T) {
	t.Parallel()
	asked := study.Engine{Lab: study.CurrentEngine}
	needRootless(t, asked)
	o := drivertest.Order(t, "docker/rootless", 1, nil)
	o.Engine = asked
	s := drivertest.Build(t, engines.Docker{}, o)
	all := must.Get(linuxnet.Descendants(s.Path.Processes()[0]))(t)
	names := map[string]bool{}
	for _, pid := range all {
		name, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		user, ownerErr := linuxnet.Owner(pid)
		if err != nil || ownerErr != nil {
			continue // it has just exited
		}
		names[filepath.Base(name)] = true
		if user == 0 {
			t.Errorf("process %d, %s, is root's", pid, name)
		}
	}
	if !names["dockerd"] || !names["rootlesskit"] || !names["containerd"] {
		t.Errorf("the engine has the processes %v", names)
	}
}

// What RootlessKit cannot do, or this machine lacks, is reported with what to do.
func TestEnginesRootlessLacks(t *testing.T) {
	t.Parallel()
	needCurrent(t)
	for _, tt := range []struct {
		mode  string
		asked study.Engine
		want  string
	}{
		{"docker/rootless", study.Engine{RootlessNet: study.RootlessPasta, RootlessPort: study.RootlessBuiltin}, "use rootless_port: implicit"},
		{"docker/rootless", study.Engine{RootlessNet: study.RootlessSlirp, RootlessPort: study.RootlessImplicit}, "use rootless_port: builtin or slirp4netns"},
		{"docker/rootless-out", study.Engine{RootlessNet: study.RootlessLXC}, "use another rootless_net"},
		{"docker/rootless", study.Engine{Firewall: study.FirewallNftables}, "leave out firewall: nftables"},
		{"docker/rootless", study.Engine{Runtime: study.RuntimeRunsc}, "leave out runtime: runsc"},
		{"docker/published", study.Engine{RootlessNet: study.RootlessPasta}, "runs as root"},
	} {
		tt.asked.Lab = study.CurrentEngine
		err := buildError(t, tt.mode, tt.asked)
		if u, is := driver.AsUnsupported(err); !is || !strings.Contains(u.Reason, tt.want) {
			t.Errorf("%s with %+v: %v, want %q", tt.mode, tt.asked, err, tt.want)
		}
	}
	old := filepath.Join(t.TempDir(), "dockerd")
	must.Do(t, os.WriteFile(old, []byte("#!/bin/sh\necho Docker version 20.10.24, build x\n"), 0o755))
	for want, except := range map[string]map[string]string{
		"needs rootlesskit, which cannot be found":                 {},
		"needs Docker Engine 28 or later, and dockerd is 20.10.24": {"dockerd": old, "rootlesskit": ""},
	} {
		dir := programs(t, except)
		if _, with := except["rootlesskit"]; with {
			linkRootlesskit(t, dir)
		}
		err := buildError(t, "docker/rootless", study.Engine{Lab: dir})
		if u, is := driver.AsUnsupported(err); !is || !strings.Contains(u.Reason, want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// linkRootlesskit adds the current engine's RootlessKit to a directory of programs.
func linkRootlesskit(t *testing.T, dir string) {
	t.Helper()
	current := must.Get(private.Find(study.CurrentEngine))(t)
	must.Do(t, os.Symlink(filepath.Join(current.Dir, "rootlesskit"), filepath.Join(dir, "rootlesskit")))
}

// A RootlessKit that fails is reported with its last words, and one that is killed too; nothing is left.
func TestEnginesRootlessFails(t *testing.T) {
	t.Parallel()
	needRootless(t, study.Engine{Lab: study.CurrentEngine})
	dir := programs(t, nil)
	script := filepath.Join(dir, "rootlesskit")
	must.Do(t, os.WriteFile(script, []byte("#!/bin/sh\necho '[rootlesskit:parent] error: failed to setup UID/GID map: no subuid ranges found' >&2\nexit 1\n"), 0o755))
	err := buildError(t, "docker/rootless", study.Engine{Lab: dir})
	must.Contain(t, err.Error(), "rootlesskit ended (exit status 1)", "no subuid ranges found")
	o := drivertest.Order(t, "docker/rootless", 1, nil)
	o.Engine.Lab = study.CurrentEngine
	s := drivertest.Build(t, engines.Docker{}, o)
	kill(t, s.Lab.B.NS, "rootlesskit")
	<-engines.Staged(s.Path).B.Done()
	must.Fail(t, must.Err(s.Path.Snapshot(t.Context())), "the engine on host b ended: rootlesskit ended (signal: killed)")
	must.Do(t, s.Path.Close(t.Context()))
	nothingLeft(t, o.Lab.Claim.ID)
}

// Detours on which the traffic still flows make the path void.
func TestEnginesRootlessShortcutsAreVoid(t *testing.T) {
	t.Parallel()
	needRootless(t, study.Engine{Lab: study.CurrentEngine})
	for _, tt := range []struct {
		name, mode string
		open       func(*drivertest.Setup) error
		want       string
	}{
		{"a cable past RootlessKit", "docker/rootless", cablePastRootlesskit, "a/eth0"},
		{"DNAT for docker-proxy", "docker/rootless", translatedInside, "b/rootless/dnat:5201.packets"},
		{"a cable past the network driver", "docker/rootless-out", cablePastTap, "a/rootless/client.veth"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := drivertest.Order(t, tt.mode, 1, nil)
			o.Engine.Lab = study.CurrentEngine
			s := drivertest.Build(t, engines.Docker{}, o)
			if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
				t.Fatalf("before the shortcut: %v", err)
			}
			must.Do(t, tt.open(s))
			s.WaitReachable(t)
			s.Void(t, drivertest.Params("tcp_stream"), tt.want)
		})
	}
}

// cablePastRootlesskit connects the client's host to the container, and translates the dialled address
// to the container's.
func cablePastRootlesskit(s *drivertest.Setup) error {
	_, server := engines.EndNamespaces(s.Path)
	a, dial, own := s.Lab.A.NS, s.Path.Pairs[0].Server.Dial[0], s.Path.Pairs[0].Server.Listen[0].Addr()
	return errors.Join(
		a.Links().Veth(linuxnet.Device{Name: "cable0"}, server, linuxnet.Device{Name: "cable1"}),
		a.Links().Up("cable0"), server.Links().Up("cable1"),
		a.Routes().Address("cable0", netip.MustParsePrefix("198.19.255.1/24")),
		server.Routes().Address("cable1", netip.MustParsePrefix("198.19.255.2/24")),
		a.Routes().Route(netip.PrefixFrom(own, 32), netip.MustParseAddr("198.19.255.2"), "cable0"),
		run(a, "iptables", "-t", "nat", "-A", "OUTPUT", "-d", dial.Addr().String(), "-p", "tcp", "--dport", "5201", "-j", "DNAT", "--to-destination", own.String()),
		run(a, "iptables", "-t", "nat", "-A", "POSTROUTING", "-o", "cable0", "-j", "MASQUERADE"),
	)
}

// cablePastTap connects the client's container to the server's host, and routes the dialled address over
// that link.
func cablePastTap(s *drivertest.Setup) error {
	client, _ := engines.EndNamespaces(s.Path)
	b, dial := s.Lab.B.NS, s.Path.Pairs[0].Server.Dial[0].Addr()
	return errors.Join(
		client.Links().Veth(linuxnet.Device{Name: "cable0"}, b, linuxnet.Device{Name: "cable1"}),
		client.Links().Up("cable0"), b.Links().Up("cable1"),
		client.Routes().Address("cable0", netip.MustParsePrefix("198.19.255.1/24")),
		b.Routes().Address("cable1", netip.MustParsePrefix("198.19.255.2/24")),
		client.Routes().Route(netip.PrefixFrom(dial, 32), netip.MustParseAddr("198.19.255.2"), "cable0"),
	)
}

// translatedInside applies the rules of published ports to the loopback address of the engine's network
// namespace, past docker-proxy.
func translatedInside(s *drivertest.Setup) error {
	in := engines.UserNetwork(s.Path)
	return errors.Join(
		in.Sysctl("net/ipv4/conf/all/route_localnet", "1"),
		run(in, "iptables", "-t", "nat", "-I", "OUTPUT", "-d", "127.0.0.0/8", "-j", "DOCKER"),
		run(in, "iptables", "-t", "nat", "-I", "POSTROUTING", "-o", "docker0", "-j", "MASQUERADE"),
	)
}
