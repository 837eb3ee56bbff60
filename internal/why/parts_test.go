package why_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/driver"
	"tare/internal/driver/setting"
	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/why"
)

// offers is a driver with modes that nobody builds.
type offers struct {
	driver.Driver
	modes []driver.Mode
}

func (o offers) Modes() []driver.Mode { return o.modes }

func found(modes []driver.Mode) why.Modes {
	return why.Modes{Here: driver.Registry{offers{modes: modes}}, Labs: modes}
}

// modes are two families with the same devices, as a lab's and an engine's modes are.
func modes() why.Modes {
	part := func(ids ...string) (out []driver.Part) {
		for _, id := range ids {
			out = append(out, driver.Part{ID: id, Title: "the " + id})
		}
		return out
	}
	return found([]driver.Mode{
		{ID: "host"},
		{ID: "netns/bridge", Baseline: "host", Like: "docker/bridge", Explains: true, Parts: part("namespace", "bridge", "dnat"), Settings: []string{"bridge_nf"}},
		{ID: "docker/bridge", Baseline: "host", Parts: part("bridge", "dnat", "seccomp")},
		{ID: "netns/macvlan", Baseline: "host", Like: "docker/macvlan", Explains: true},
		{ID: "docker/macvlan", Baseline: "host"},
		{ID: "netns/routed", Baseline: "host", Like: "docker/routed", Parts: part("namespace")},
		{ID: "docker/routed", Baseline: "host"},
		{ID: "proxy/l4", Baseline: "host"},
		{ID: "proxy/http", Baseline: "host", PartModes: []driver.PartMode{
			{Part: driver.Part{ID: "hops"}, Mode: "proxy/l4"}, {Part: driver.Part{ID: "requests"}, Mode: "proxy/http"},
			{Part: driver.Part{ID: "namespace"}, Mode: "proxy/http", With: map[string]string{"namespace": "on"}},
		}},
	})
}

// written is a list of modes with the variants that they are.
func written(s study.Study, rungs []study.PartMode) (out []string) {
	for _, r := range rungs {
		m, _ := s.ModeNamed(r.Mode)
		text := fmt.Sprintf("%s %s=%s", r.Part, r.Mode, m.Mode)
		for _, k := range []string{"namespace", "bridge", "dnat", "seccomp", "bridge_nf"} {
			if v, has := m.With[k]; has {
				text += " " + k + ":" + v
			}
		}
		if r.Rest {
			text += " rest"
		}
		if r.Beyond {
			text += " beyond"
		}
		out = append(out, text)
	}
	return out
}

func TestStudy(t *testing.T) {
	for _, tt := range []struct {
		mode            string
		rungs, removals []string
	}{
		{"netns/bridge", []string{" host=host", "namespace upto-namespace=netns/bridge bridge:off dnat:off", "bridge upto-bridge=netns/bridge dnat:off", "dnat netns/bridge=netns/bridge",
			"bridge_nf and-bridge_nf=netns/bridge bridge_nf:on beyond"},
			[]string{"namespace no-namespace=netns/bridge namespace:off", "bridge no-bridge=netns/bridge bridge:off", "dnat upto-bridge=netns/bridge dnat:off"}},
		{"docker/bridge", []string{" host=host", "namespace upto-namespace=netns/bridge bridge:off dnat:off", "bridge upto-bridge=netns/bridge dnat:off", "dnat netns/bridge=netns/bridge",
			"engine upto-engine=docker/bridge seccomp:off rest", "seccomp docker/bridge=docker/bridge"},
			[]string{"bridge no-bridge=docker/bridge bridge:off", "dnat no-dnat=docker/bridge dnat:off", "seccomp upto-engine=docker/bridge seccomp:off"}},
		{"netns/macvlan", []string{" host=host", "mode netns/macvlan=netns/macvlan rest"}, nil},
		{"docker/routed", []string{" host=host", "mode docker/routed=docker/routed rest"}, nil}, // only some endpoints of netns/routed are alike
		{"proxy/http", []string{" host=host", "hops proxy/l4=proxy/l4", "requests proxy/http=proxy/http", "namespace and-namespace=proxy/http namespace:on beyond"}, nil},
		{"docker/macvlan", []string{" host=host", "mode netns/macvlan=netns/macvlan rest", "engine docker/macvlan=docker/macvlan rest"}, nil},
	} {
		s := must.Get(why.Study(modes(), tt.mode, why.Options{}))(t)
		must.EqualFor(t, tt.mode+": rungs", tt.rungs, written(s, s.CostByParts.Modes))
		must.EqualFor(t, tt.mode+": removals", tt.removals, written(s, s.CostByParts.Removals))
	}
}

func TestNothingToExplain(t *testing.T) {
	for mode, want := range map[string]string{"host": "host is a baseline", "netns/none": "no driver builds"} {
		must.FailFor(t, mode, must.Err(why.Study(modes(), mode, why.Options{})), want)
	}
}

// Pairs set nothing to two values, and have what both need and give up.
func TestPairs(t *testing.T) {
	try := func(name string, with map[string]string) why.Try {
		return why.Try{Name: "try-" + name, Candidate: setting.Candidate{With: with, Permanent: []string{"set " + name}, GivesUp: "no " + name}}
	}
	pairs := why.Pairs([]why.Try{try("a", map[string]string{"gro": "on"}), try("b", map[string]string{"gro": "off"}), try("c", map[string]string{"rps": "all", "gro": "on"})})
	must.Require(t, len(pairs) == 1 && pairs[0].Name == "try-a-and-c", "%+v", pairs)
	if p := pairs[0]; p.Words() != "gro: on, rps: all" || len(p.Permanent) != 2 || p.GivesUp != "no a; no c" {
		t.Errorf("%+v", p)
	}
}

// What is tried is compared with the mode as it is; a mode without settings has nothing to try.
func TestTryStudy(t *testing.T) {
	m := driver.Mode{ID: "netns/vxlan", Title: "a tunnel", Baseline: "host", Settings: setting.Names()}
	tries := why.Tries(m)
	s, err := why.TryStudy(m, tries)
	must.Require(t, err == nil && len(tries) >= 2, "%d tries, %v", len(tries), err)
	for i, c := range s.Compare {
		v, ok := s.ModeNamed(tries[i].Name)
		must.True(t, ok && v.Mode == m.ID && c.A.Of == tries[i].Name && c.B.Of == m.ID && cmp.Equal(v.With, tries[i].With) && strings.Contains(v.Description, tries[i].GivesUp),
			"%+v is compared as %+v", v, c)
	}
	must.Fail(t, must.Err(why.TryStudy(driver.Mode{ID: "rootless/x", Baseline: "host"}, nil)), "no setting could help rootless/x")
	must.Fail(t, must.Err(why.TryStudy(driver.Mode{ID: "host", Settings: setting.Names()}, tries)), "host is a baseline")
}

// clusterModes are modes of a cluster.
func clusterModes() why.Modes {
	return found([]driver.Mode{
		{ID: "k8s/hostnet"}, {ID: "k8s/hostnet-local"}, {ID: "k8s/network:NAME", Baseline: "k8s/hostnet", Title: "another network"},
		{ID: "k8s/pod", Baseline: "k8s/hostnet", Limits: study.Ends{Client: true, Server: true}},
		{ID: "k8s/service", Baseline: "k8s/hostnet", Limits: study.Ends{Client: true, Server: true}},
		{ID: "k8s/nodeport", Baseline: "k8s/hostnet", Limits: study.Ends{Server: true}},
		{ID: "k8s/hairpin", Baseline: "k8s/hostnet-local", Limits: study.Ends{Client: true, Server: true}},
		{ID: "k8s/ingress:NAME", Baseline: "k8s/pod", Limits: study.Ends{Client: true, Server: true}},
	})
}

// On a cluster the parts are the differences of neighbouring modes.
func TestCluster(t *testing.T) {
	for _, tt := range []struct {
		mode            string
		limit           float64
		rungs, removals []string
		beside          bool
	}{
		{"k8s/pod", 0, []string{" k8s/hostnet=k8s/hostnet", "server-pod k8s/node-to-pod=k8s/node-to-pod", "client-pod k8s/pod=k8s/pod"}, []string{"server-pod k8s/pod-to-node=k8s/pod-to-node"}, true},
		{"k8s/service", 0.5, []string{" k8s/hostnet=k8s/hostnet", "server-pod k8s/node-to-pod=k8s/node-to-pod", "client-pod k8s/pod=k8s/pod", "service k8s/service=k8s/service", "cpu-limit service-limited=k8s/service"}, nil, true},
		{"k8s/nodeport", 0, []string{" k8s/hostnet=k8s/hostnet", "server-pod k8s/node-to-pod=k8s/node-to-pod", "service k8s/nodeport=k8s/nodeport"}, nil, false},
		{"k8s/hairpin", 0, []string{" k8s/hostnet-local=k8s/hostnet-local", "pods k8s/pod-local=k8s/pod-local", "service k8s/service-local=k8s/service-local", "itself k8s/hairpin=k8s/hairpin"}, nil, false},
		{"k8s/ingress:NAME", 0, []string{" k8s/pod=k8s/pod", "proxy k8s/ingress:NAME=k8s/ingress:NAME"}, nil, false},
		{"k8s/network:NAME", 0, []string{" k8s/hostnet=k8s/hostnet", "mode k8s/network:NAME=k8s/network:NAME rest"}, nil, false},
	} {
		s := must.Get(why.Study(clusterModes(), tt.mode, why.Options{CPULimit: tt.limit}))(t)
		must.EqualFor(t, tt.mode+": rungs", tt.rungs, written(s, s.CostByParts.Modes))
		must.EqualFor(t, tt.mode+": removals", tt.removals, written(s, s.CostByParts.Removals))
		_, beside := s.ModeNamed("k8s/pod-local")
		if (s.CostByParts.Within != nil) != tt.beside || tt.beside && !beside {
			t.Errorf("%s: within %+v, modes %v", tt.mode, s.CostByParts.Within, s.ModeNames())
		}
		if top, _ := s.ModeNamed(s.CostByParts.Of); top.Limits.Client.CPUs != tt.limit || top.Limits.Server.CPUs != tt.limit || top.Mode != tt.mode {
			t.Errorf("%s: %+v", tt.mode, top)
		}
	}
	must.Fail(t, must.Err(why.Study(modes(), "netns/bridge", why.Options{CPULimit: 1})), "netns/bridge can have no CPU limit")
}

// Where the cluster injects containers, all steps with pods are without them but the last one, which names them. A mode that is not measured
// through them is explained without them.
func TestInjected(t *testing.T) {
	modes := []driver.Mode{{ID: "k8s/hostnet"}, {ID: "k8s/hostnet-local"}}
	for _, id := range []string{"k8s/pod", "k8s/pod-local", "k8s/node-to-pod", "k8s/pod-to-node", "k8s/network:NAME"} {
		modes = append(modes, driver.Mode{ID: id, Baseline: "k8s/hostnet", Options: true})
	}
	modes = append(modes, driver.Mode{ID: "k8s/ingress:NAME", Baseline: "k8s/pod", Options: true})
	for mode, want := range map[string][]string{
		"k8s/pod":          {"k8s/hostnet", "node-to-pod-without-sidecars", "pod-without-sidecars", "k8s/pod"},
		"k8s/network:NAME": {"k8s/hostnet", "network-NAME-without-sidecars"},
		"k8s/ingress:NAME": {"pod-without-sidecars", "ingress-NAME-without-sidecars"},
	} {
		s := must.Get(why.Study(found(modes), mode, why.Options{Injected: []string{"proxy (image)"}}))(t)
		must.EqualFor(t, mode+": removals, which would leave sidecars out, too", 0, len(s.CostByParts.Removals))
		var got []string
		for _, r := range s.CostByParts.Modes {
			got = append(got, r.Mode)
		}
		must.EqualFor(t, mode+": steps", want, got)
		last := s.CostByParts.Modes[len(want)-1]
		must.EqualFor(t, mode+": what is explained", want[len(want)-1], s.CostByParts.Of)
		must.True(t, mode != "k8s/pod" || last.Part == "sidecars" && strings.Contains(last.Title, "proxy (image)"), "%s: %+v", mode, last)
		for _, m := range s.Modes {
			off := m.Options["sidecars"] == "off"
			must.True(t, off == strings.HasSuffix(m.Name(), "-without-sidecars"), "%s: %+v", mode, m)
		}
		if w := s.CostByParts.Within; mode == "k8s/pod" {
			must.True(t, w != nil && w.Mode == "pod-local-without-sidecars" && w.Across == "pod-without-sidecars", "within %+v", w)
		}
	}
}
