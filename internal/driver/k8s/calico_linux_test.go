package k8s_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/k8s"
	"tare/internal/kube"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
)

// Modes are proven on Calico, which routes pods without a bridge, through a tunnel and without one,
// and enforces policies: one that denies fails its mode and no other, and those of the option
// policies check each connection.
func TestCalico(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{CNI: kubetest.Calico})
	d := open(t, c, nil)
	t.Run("modes", func(t *testing.T) {
		run := stay(t, d)
		denied := deny(t, c, d, run)
		const tunnel = "overlay, VXLAN: device vxlan.calico, MTU 1450"
		for _, m := range []struct {
			driver.Order
			between string
		}{
			{driver.Order{Mode: "k8s/pod"}, tunnel},
			{driver.Order{Mode: "k8s/pod-local"}, ""},
			{driver.Order{Mode: "k8s/pod-to-node"}, "direct: device eth0, MTU 1500; back: " + tunnel},
			{driver.Order{Mode: "k8s/node-to-pod"}, tunnel},
			{driver.Order{Mode: "k8s/service"}, tunnel},
			{driver.Order{Mode: "k8s/nodeport"}, ""},
			{driver.Order{Mode: "k8s/nodeport", Options: map[string]string{k8s.OptionEndpoint: k8s.EndpointOther}}, "direct: device eth0, MTU 1500; to the pod: " + tunnel},
			{driver.Order{Mode: "k8s/hairpin"}, ""},
		} {
			t.Run(m.Mode+m.Options[k8s.OptionEndpoint], func(t *testing.T) {
				s := checkMode(t, d, run, m.Order)
				if m.between != "" {
					must.EqualFor(t, "between the nodes", m.between, fact(t, s, "between the nodes"))
				}
				switch m.Mode {
				case "k8s/nodeport":
					must.Contain(t, fact(t, s, "source address"), "SNAT")
				case "k8s/service":
					checkPolicyAdded(t, s)
				}
			})
		}
		t.Run("policies", func(t *testing.T) { checkPolicies(t, c, d, run) })
		t.Run("set-up", func(t *testing.T) { checkSetUpTimed(t, d, run, "k8s/service", true) })
		denied(t)
		t.Run("direct", func(t *testing.T) {
			c.Kubectl(t, "", "patch", "ippools.crd.projectcalico.org", "pods", "--type=merge", "-p", `{"spec": {"vxlanMode": "CrossSubnet"}}`)
			// Felix removes a route and adds its successor by turns, on each node by itself: without
			// the tunnel's route there may be none for a while.
			c.Until(t, "routes beside the tunnel on both nodes", func() bool {
				return routedDirectly(t, c, c.Lab.A, c.Lab.B) && routedDirectly(t, c, c.Lab.B, c.Lab.A)
			})
			s := checkMode(t, d, run, driver.Order{Mode: "k8s/pod"})
			if got := fact(t, s, "between the nodes"); got != "direct: device eth0, MTU 1450" && got != "direct: device eth0, MTU 1500" {
				t.Errorf("between the nodes: %s", got)
			}
		})
	})
	clean(t, c)
}

// routedDirectly says whether a node's packets to the pods of the other leave by the underlay.
func routedDirectly(t *testing.T, c *kubetest.Cluster, on, to *lab.Host) bool {
	t.Helper()
	return strings.Contains(c.OnNode(t, on, "ip", "route"), " via "+to.Addr[0].String()+" dev "+lab.Underlay)
}

// deny creates a policy that denies a mode everything and begins to set it up. It returns a
// function that expects it to have failed.
func deny(t *testing.T, c *kubetest.Cluster, d *k8s.Driver, run lab.Spec) func(*testing.T) {
	t.Helper()
	c.Kubectl(t, `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny-all}
spec: {podSelector: {matchLabels: {io.tare.mode: denied}}, policyTypes: [Ingress]}
`, "apply", "-n", kube.Name(run.Claim.ID), "-f", "-")
	o := drivertest.SpecOn(run, driver.Order{Mode: "k8s/service-local", Pairs: 1}).Order
	o.Label = "denied"
	failed := make(chan error, 1)
	go func() {
		p, err := d.Provision(t.Context(), o)
		if err == nil {
			err = p.Close(t.Context())
		}
		failed <- err
	}()
	return func(t *testing.T) {
		t.Helper()
		err := <-failed
		want := "network policy deny-all in namespace " + kube.Name(run.Claim.ID) + " restricts the ingress of the server's pod"
		must.FailLine(t, "a policy that denies", err, "k8s/service-local", want)
	}
}

// checkPolicies measures connections of a mode with a number of policies, and expects the rules of
// each policy to have been checked for each connection. Beside it there are services without
// traffic: with nftables they are elements of a map and no rules that each connection passes.
func checkPolicies(t *testing.T, c *kubetest.Cluster, d *k8s.Driver, run lab.Spec) {
	t.Helper()
	const policies, services = 30, 40
	rulesBefore, _ := servicesOnNode(t, c)
	o := drivertest.SpecOn(run, driver.Order{Mode: "k8s/pod-local", Pairs: 1, Options: map[string]string{
		k8s.OptionPolicies: strconv.Itoa(policies), k8s.OptionServices: strconv.Itoa(services),
	}}).Order
	o.Label = "policies"
	// Set up again, as after a lost pod, the mode finds the policies of the first time.
	first := must.Get(d.Provision(t.Context(), o))(t)
	must.Do(t, first.Close(t.Context()))
	s := drivertest.BuildOn(t, d, o)
	c.Until(t, "the services in the map of node a", func() bool {
		_, decoys := servicesOnNode(t, c)
		return decoys == services
	})
	if rules, _ := servicesOnNode(t, c); rules != rulesBefore || rules == 0 {
		t.Errorf("each connection passes %d rules with %d more services, and %d without", rules, services, rulesBefore)
	}
	c.Until(t, "rules for all policies on node a", func() bool { return len(checkedByPolicies(t, c)) >= 2*policies })
	before := checkedByPolicies(t, c)
	client, _ := must.Get2(s.Trial(t, drivertest.Params("tcp_crr"), false))(t)
	checked := 0
	for rule, packets := range checkedByPolicies(t, c) {
		if packets-before[rule] >= client.Connections {
			checked++
		}
	}
	if client.Connections == 0 || checked < 2*policies {
		t.Errorf("%d connections were checked by %d rules that lead to %d policies of both directions", client.Connections, checked, policies)
	}
}

// decoyService is an element for a decoy service in kube-proxy's map: its address leads to its chain.
var decoyService = regexp.MustCompile(` : goto \S+-policies-decoy-\d+/`)

// servicesOnNode returns how many rules for services each connection passes on node a, and how many
// decoy services the map has. kube-proxy may yet have to remove services of earlier modes.
func servicesOnNode(t *testing.T, c *kubetest.Cluster) (rules, decoys int) {
	t.Helper()
	rules = strings.Count(c.OnNode(t, c.Lab.A, "nft", "list", "chain", "ip", "kube-proxy", "services"), "\n\t\t")
	return rules, len(decoyService.FindAllString(c.OnNode(t, c.Lab.A, "nft", "list", "map", "ip", "kube-proxy", "service-ips"), -1))
}

// jumpToPolicy is a rule of iptables that leads to a policy, with its packets.
var jumpToPolicy = regexp.MustCompile(`(?m)^\[(\d+):\d+\] (.* -j cali-p[io]-\S+)$`)

// checkedByPolicies returns the packets that were checked against each policy on node a.
func checkedByPolicies(t *testing.T, c *kubetest.Cluster) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, m := range jumpToPolicy.FindAllStringSubmatch(c.OnNode(t, c.Lab.A, "iptables-save", "-c", "-t", "filter"), -1) {
		n := must.Get(strconv.Atoi(m[1]))(t)
		out[m[2]] = n
	}
	return out
}
