package engines_test

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// without is a variant that leaves parts out.
func without(parts ...string) map[string]string {
	with := map[string]string{}
	for _, p := range parts {
		with[p] = driver.Off
	}
	return with
}

// variants are modes without some of their parts. Each is proven like the whole mode; then undo
// brings a part back, as an engine might, and the proof must fail with want.
var variants = []struct {
	name, mode string
	pairs      int
	parts      []string
	undo       func(*drivertest.Setup) error
	want       string
}{
	{"published without DNAT", "docker/published", 1, []string{"dnat"},
		func(s *drivertest.Setup) error {
			to := s.Path.Pairs[0].Server.Dial[0].String()
			return run(s.Lab.B.NS, "iptables", "-t", "nat", "-A", "DOCKER", "-p", "tcp", "--dport", "5201", "-j", "DNAT", "--to-destination", to)
		}, "the engine has put back the DNAT rule of port 5201 of host b"},
	{"published without chains", "docker/published", 1, []string{"engine_chains", "seccomp"},
		func(s *drivertest.Setup) error {
			return run(s.Lab.B.NS, "iptables", "-I", "FORWARD", "-j", "DOCKER-USER")
		}, "counter b/FORWARD:engine_chains.packets moved by "},
	{"published without all", "docker/published", 2, []string{"conntrack", "dnat", "engine_chains", "seccomp", "cgroup"},
		func(s *drivertest.Setup) error { return s.Lab.B.NS.Rules().DropChain("tare_notrack", "prerouting") },
		"counter b/notrack:eth0_in.bytes moved by 0"},
	{"service without all but seccomp", "docker/service-host-port", 2, []string{"conntrack", "dnat", "engine_chains", "cgroup"}, nil, ""},
	{"bridge without masquerade", "docker/bridge", 1, []string{"masquerade"},
		func(s *drivertest.Setup) error {
			return run(s.Lab.A.NS, "iptables", "-t", "nat", "-A", "POSTROUTING", "!", "-o", "docker0", "-j", "MASQUERADE")
		}, "the engine has put back the masquerade rule of docker0 of host a"},
	{"bridge without all", "docker/bridge", 2, []string{"conntrack", "masquerade", "dnat", "engine_chains", "seccomp", "cgroup"}, nil, ""},
	{"overlay without resolver", "docker/overlay", 1, []string{"resolver_rules"},
		func(s *drivertest.Setup) error {
			_, to := engines.EndNamespaces(s.Path)
			return run(to, "iptables", "-t", "nat", "-A", "OUTPUT", "-d", "127.0.0.11", "-j", "ACCEPT")
		}, "container b/server has rules in its table nat"},
	{"overlay without conntrack", "docker/overlay", 1, []string{"conntrack", "cgroup"},
		func(s *drivertest.Setup) error { return s.Lab.A.NS.Rules().DropChain("tare_notrack", "output") },
		"counter a/notrack:eth0_out.bytes moved by 0"},
	{"userland-proxy without conntrack", "docker/userland-proxy", 1, []string{"conntrack"}, nil, ""},
	{"userland-proxy without proxy", "docker/userland-proxy", 1, []string{"proxy"}, nil, ""},
	{"userland-proxy without all", "docker/userland-proxy", 2, []string{"conntrack", "dnat", "proxy", "seccomp", "cgroup"}, nil, ""},
	{"host without all", "docker/host", 2, []string{"conntrack", "seccomp", "cgroup"}, nil, ""},
	{"to-host without conntrack", "docker/to-host", 1, []string{"conntrack"}, nil, ""},
	{"macvlan without resolver", "docker/macvlan", 1, []string{"resolver_rules", "seccomp"}, nil, ""},
}

// Settings apply to the namespaces of engines and containers, with parts left out or not.
func TestEnginesSettings(t *testing.T) {
	drivertest.NeedEngine(t)
	for _, tt := range []struct {
		mode, value string
		parts       []string
	}{
		{"docker/published", "on", []string{"conntrack", "dnat", "engine_chains"}},
		{"docker/overlay", "off", nil},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			with := without(tt.parts...)
			with["bridge_nf"] = tt.value
			s := drivertest.Build(t, engines.Docker{}, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: tt.mode, Pairs: 1, With: with}))
			for _, kind := range []string{"tcp_rr", "tcp_stream"} {
				if _, _, err := s.Trial(t, drivertest.Params(kind), false); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
			}
		})
	}
}

func TestEnginesVariants(t *testing.T) {
	drivertest.NeedEngine(t)
	for _, tt := range variants {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := drivertest.Build(t, engines.Docker{}, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: tt.mode, Pairs: tt.pairs, With: without(tt.parts...)}))
			s.CheckTopology(t)
			for _, kind := range []string{"tcp_rr", "tcp_crr", "tcp_stream", "udp_stream"} {
				if _, err := s.TrialPairs(t, drivertest.Params(kind), false, tt.pairs); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
			}
			for _, part := range tt.parts {
				if fact(s.Path.Facts, "without "+part) == "" {
					t.Errorf("no fact says what was read back without %s: %v", part, s.Path.Facts)
				}
			}
			if tt.want == "" {
				return
			}
			must.Do(t, tt.undo(s))
			if _, _, err := s.Trial(t, drivertest.Params("tcp_rr"), false); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the part is back: %v, want %q", err, tt.want)
			}
		})
	}
}

// A variant that cannot exist is unsupported, and says what it requires. Nothing is started for it.
func TestVariantsThatCannotExist(t *testing.T) {
	drivertest.NeedEngine(t)
	for _, tt := range []struct {
		mode   string
		parts  []string
		limits study.Limits
		want   string
	}{
		{"docker/published", []string{"conntrack"}, study.Limits{}, "conntrack: off requires dnat: off"},
		{"docker/bridge", []string{"conntrack", "dnat"}, study.Limits{}, "conntrack: off requires masquerade: off"},
		{"docker/bridge", []string{"conntrack", "dnat", "masquerade"}, study.Limits{}, "conntrack: off requires engine_chains: off"},
		{"docker/userland-proxy", []string{"dnat"}, study.Limits{}, "dnat: off requires proxy: off"},
		{"docker/userland-proxy", []string{"proxy", "conntrack"}, study.Limits{}, "conntrack: off requires dnat: off"},
		{"docker/published", []string{"cgroup"}, study.Limits{Server: study.Limit{Memory: 1 << 30}}, "cgroup: off requires no limits"},
	} {
		_, err := engines.Docker{}.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil),
			driver.Order{Mode: tt.mode, Pairs: 1, With: without(tt.parts...), Limits: tt.limits}))
		if u, ok := driver.AsUnsupported(err); !ok || !strings.Contains(u.Reason, tt.want) {
			t.Errorf("%s without %v: %v, want %q", tt.mode, tt.parts, err, tt.want)
		}
	}
}

// The parts of each mode can be added one after the other, in their order, to the mode without any
// of them.
func TestEachPartIsAMode(t *testing.T) {
	for _, m := range (engines.Docker{}).Modes() {
		var ids []string
		for _, p := range m.Parts {
			ids = append(ids, p.ID)
			if p.Title == "" {
				t.Errorf("%s: part %s has no title", m.ID, p.ID)
			}
		}
		// The only part of docker/rootless-out is the seccomp profile.
		if len(ids) < 2 && m.ID != "docker/rootless-out" || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
			t.Errorf("%s has the parts %v", m.ID, ids)
		}
		for n := range ids {
			if err := engines.CheckParts(driver.Order{Mode: m.ID, With: without(ids[n:]...)}); err != nil && !strings.Contains(err.Error(), "version 2") {
				t.Errorf("%s with only %v: %v", m.ID, ids[:n], err)
			}
		}
	}
}

// Agents of several containers in one network namespace start at the same time: none moves another
// one, for which its own container still waits.
func TestAgentsStartTogether(t *testing.T) {
	drivertest.NeedEngine(t)
	const pairs = 2
	s := drivertest.Build(t, engines.Docker{}, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: "docker/host", Pairs: pairs, With: without("cgroup")}))
	for range 8 {
		errs := make(chan error)
		for _, pair := range s.Path.Pairs {
			for _, end := range []driver.Endpoint{pair.Client, pair.Server} {
				go func() {
					a, err := agent.Start(t.Context(), end.Launcher, s.Lab.Spec.Claim.ID, end.Name+"-again")
					if err == nil {
						err = a.Close()
					}
					errs <- err
				}()
			}
		}
		for range 2 * pairs {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	}
}
