package k8s_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/k8s"
	"tare/internal/kube"
	"tare/internal/lab"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
	"tare/internal/timelimit"
)

// open returns a driver for a cluster, which is left as it was.
func open(t *testing.T, c *kubetest.Cluster, change func(*k8s.Options)) *k8s.Driver {
	t.Helper()
	o := k8s.Options{Options: kube.Options{Kubeconfig: c.Admin}}
	if change != nil {
		change(&o)
	}
	d := k8s.New(o)
	must.Do(t, d.Open(t.Context()))
	t.Cleanup(func() { must.Do(t, d.Close()) })
	return d
}

// stay keeps a path set up for the length of a test, and with it what all paths of a run share,
// as other modes do in a run. It returns the run.
func stay(t *testing.T, d *k8s.Driver) lab.Spec {
	t.Helper()
	spec := drivertest.Spec(t, func(l *lab.Spec) { l.Label = "first" })
	p := must.Get(d.Provision(t.Context(), drivertest.SpecOn(spec, driver.Order{Mode: "k8s/hostnet", Pairs: 1}).Order))(t)
	t.Cleanup(func() { must.Do(t, p.Close(context.Background())) })
	return spec
}

// label returns a label for a mode.
func label(mode string) string { return strings.NewReplacer("/", ".", ":", ".").Replace(mode) }

// checkMode builds a mode and expects it to be proven for streams both ways, connections and
// datagrams, and with several pairs for clients of one server.
func checkMode(t *testing.T, d *k8s.Driver, run lab.Spec, o driver.Order) *drivertest.Setup {
	t.Helper()
	o.Pairs = max(o.Pairs, 1)
	o = drivertest.SpecOn(run, o).Order
	o.Label = label(o.Mode)
	s := drivertest.BuildOn(t, d, o)
	s.CheckTopology(t)
	for _, w := range []struct {
		kind    string
		reverse bool
	}{{"tcp_stream", false}, {"tcp_stream", true}, {"tcp_crr", false}, {"udp_stream", false}} {
		p := drivertest.Params(w.kind)
		if p.Direction = studytest.Direction(w.reverse); w.kind == "tcp_crr" {
			p.RequestSize, p.ResponseSize = 2000, 2000 // a busy machine opens few connections
		}
		reports := must.Get(s.TrialPairs(t, p, false, o.Pairs))(must.Named(t, fmt.Sprintf("%s, reverse %t", w.kind, w.reverse)))
		for i, r := range reports {
			if r.Client.Received+r.Server.Received == 0 {
				t.Errorf("%s, reverse %t: pair %d carried nothing", w.kind, w.reverse, i+1)
			}
		}
	}
	if o.Pairs > 1 {
		s.ConformsFanIn(t, "http", false)
	}
	return s
}

// fact returns a fact of a path.
func fact(t *testing.T, s *drivertest.Setup, name string) string {
	t.Helper()
	for _, f := range s.Path.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	t.Errorf("the path has no fact %q: %v", name, s.Path.Facts)
	return ""
}

// Every mode is proven on a cluster with routes between its nodes, and tells what is between them
// and what happens to addresses.
func TestModes(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{IPv6: true, Multus: true})
	d := open(t, c, nil)
	t.Run("modes", func(t *testing.T) {
		run := stay(t, d)
		checkAbsent(t, c, d, run)
		checkOptions(t, c, d, run)
		checkOtherDevice(t, c, d, run)
		c.StartMetalLB(t)
		c.StartTraefik(t)
		c.DefineNetwork(t)
		t.Setenv(timelimit.Variable, "5") // some modes wait in vain
		t.Run("no load balancer", func(t *testing.T) {
			t.Parallel()
			checkUnsupported(t, d, run, driver.Order{Mode: "k8s/loadbalancer", Options: map[string]string{k8s.OptionClass: "example.org/none"}}, "install a controller")
		})
		t.Run("no controller", func(t *testing.T) {
			t.Parallel()
			checkNoController(t, c, d, run)
		})
		t.Run("probe", func(t *testing.T) {
			t.Parallel()
			must.Do(t, d.Probe(t.Context(), driver.Order{Mode: "k8s/pod-local"}))
		})
		t.Run("outside", func(t *testing.T) {
			t.Parallel()
			checkOutside(t, c, d, run)
		})
		for _, m := range d.Modes() {
			t.Run(m.ID, func(t *testing.T) {
				t.Parallel() // most of the time is waiting for the cluster
				switch m.ID {
				case "k8s/ingress:NAME":
					checkThrough(t, c, d, run, "k8s/ingress:"+kubetest.IngressClass)
					return
				case "k8s/gateway:NAME":
					checkThrough(t, c, d, run, "k8s/gateway:default/"+kubetest.Gateway)
					return
				}
				mode := strings.Replace(m.ID, ":NAME", ":"+kubetest.SecondNetwork, 1)
				s := checkMode(t, d, run, driver.Order{Mode: mode})
				switch m.ID {
				case "k8s/hostnet", "k8s/pod-to-node", "k8s/service", "k8s/nodeport", "k8s/hairpin", "k8s/loadbalancer", "k8s/network:NAME":
					checkIPv6(t, s)
				}
				switch m.ID {
				case "k8s/loadbalancer":
					checkLoadBalancer(t, c, d, s, run)
				case "k8s/network:NAME":
					checkNetwork(t, c, s)
					checkNoNetwork(t, c, d, run)
				case "k8s/pod":
					must.EqualFor(t, "between the nodes", "direct: device eth0, MTU 1500", fact(t, s, "between the nodes"))
					checkNotEnforced(t, s)
				case "k8s/service":
					must.Contain(t, fact(t, s, "destination address"), "DNAT")
					checkWrongEndpoint(t, c, s, run, kube.Name(run.Claim.ID))
				}
			})
		}
	})
	clean(t, c)
	t.Run("one namespace", func(t *testing.T) { checkTenant(t, c) })
}

// checkWrongEndpoint lets a service lead to another pod than that of the path, on which a server
// answers as well. That must not pass as the path.
func checkWrongEndpoint(t *testing.T, c *kubetest.Cluster, s *drivertest.Setup, run lab.Spec, space string) {
	t.Helper()
	k := must.Get(kube.Connect(t.Context(), kube.Options{Kubeconfig: c.Admin}))(t)
	other := must.Get(k.Run(t.Context(), kube.PodSpec{Run: run.Claim.ID, Part: "other", Name: kube.Name(run.Claim.ID, s.Path.Mode, "other"), Namespace: space, Node: kubetest.NodeB, Labels: map[string]string{"other": label(s.Path.Mode)}}))(t)
	a := must.Get(agent.Start(t.Context(), other, run.Claim.ID, "other"))(t)
	defer func() { must.Do(t, a.Close(), other.Remove(context.Background())) }()
	name := kube.Name(run.Claim.ID, label(s.Path.Mode), "b", "server")
	c.Kubectl(t, "", "patch", "service", name, "-n", space, "--type=merge", "-p", fmt.Sprintf(`{"spec": {"selector": {"io.tare.mode": null, "io.tare.endpoint": null, "other": %q}}}`, label(s.Path.Mode)))
	addr, _ := other.Address(false)
	s.Path.Pairs[0].Server.Listen[0] = netip.AddrPortFrom(addr, s.Path.Pairs[0].Server.Listen[0].Port())
	s.Ends[0].Server = a
	s.WaitReachable(t)
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err == nil || !strings.Contains(err.Error(), "server") {
		t.Errorf("a service that leads to another pod: %v", err)
	}
}

// With flannel, packets between nodes pass its tunnel; the modes are proven with rules in the form
// of iptables, too, with two pairs, and beside many other services and policies.
func TestFlannel(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{CNI: kubetest.Flannel, Proxy: "iptables"})
	const decoys = 100
	d := open(t, c, func(o *k8s.Options) { o.Decoys = decoys })
	t.Run("modes", func(t *testing.T) {
		before := rules(t, c)
		run := stay(t, d)
		c.Until(t, "kube-proxy's rules for the decoys", func() bool { return rules(t, c) >= before+decoys })
		for _, mode := range []string{"k8s/hostnet", "k8s/service"} {
			t.Run("set-up of "+mode, func(t *testing.T) {
				t.Parallel()
				checkSetUpTimed(t, d, run, mode, false)
			})
		}
		for _, o := range []driver.Order{
			{Mode: "k8s/pod-to-node"}, {Mode: "k8s/hairpin"}, {Mode: "k8s/service-local"}, {Mode: "k8s/service", Pairs: 2},
			{Mode: "k8s/nodeport", Options: map[string]string{k8s.OptionPolicy: "Local"}},
			{Mode: "k8s/pod-local", Limits: study.Limits{Server: study.Limit{CPUs: 0.5, Memory: 256 << 20}}, Options: map[string]string{k8s.OptionPolicies: "20"}},
			{Mode: "k8s/pod", Pairs: 2},
		} {
			t.Run(o.Mode, func(t *testing.T) {
				t.Parallel()
				s := checkMode(t, d, run, o)
				switch o.Mode {
				case "k8s/nodeport":
					must.EqualFor(t, "source address", "kept", fact(t, s, "source address"))
				case "k8s/service":
					checkReplaced(t, s)
				case "k8s/pod":
					must.EqualFor(t, "between the nodes", "overlay, VXLAN: device flannel.1, MTU 1450", fact(t, s, "between the nodes"))
					checkSecondNetwork(t, c, s)
				}
			})
		}
	})
	clean(t, c)
}

// rules returns how many rules kube-proxy has on node a in the form of iptables.
func rules(t *testing.T, c *kubetest.Cluster) int {
	t.Helper()
	return strings.Count(c.OnNode(t, c.Lab.A, "iptables-save", "-t", "nat"), "\n-A ")
}

// checkSecondNetwork gives the nodes a route to each other's pods beside the tunnel. Packets that
// take it must not pass as those of the path.
func checkSecondNetwork(t *testing.T, c *kubetest.Cluster, s *drivertest.Setup) {
	t.Helper()
	pods := strings.Fields(c.Kubectl(t, "", "get", "pods", "-A", "-l", "io.tare.mode="+label(s.Path.Mode), "-o", `jsonpath={range .items[*]}{.spec.nodeName}={.status.podIP} {end}`))
	if len(pods) < 2 {
		t.Fatalf("pods %v", pods)
	}
	for _, p := range pods {
		node, addr, _ := strings.Cut(p, "=")
		from, via := c.Lab.A, c.Lab.B
		if node == kubetest.NodeA {
			from, via = via, from
		}
		c.OnNode(t, from, "ip", "route", "add", addr+"/32", "via", via.Addr[0].String())
	}
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err == nil || !strings.Contains(err.Error(), "flannel.1") {
		t.Errorf("packets beside the tunnel: %v", err)
	}
}

// clean fails if anything of a run is left on a cluster.
func clean(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	for _, kind := range []string{"namespaces", "pods", "services", "networkpolicies", "ingresses", "clusterroles", "clusterrolebindings"} {
		out := c.Kubectl(t, "", "get", kind, "-A", "-o", "name", "-l", kube.LabelRun)
		must.EqualFor(t, "left", "", strings.TrimSpace(out))
	}
}
