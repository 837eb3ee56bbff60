package k8s_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/k8s"
	"tare/internal/kube"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
)

// provision builds a mode and removes it again, and returns its error.
func provision(t *testing.T, d *k8s.Driver, run lab.Spec, o driver.Order) error {
	t.Helper()
	o.Pairs = 1
	o = drivertest.SpecOn(run, o).Order
	o.Label = "absent." + label(o.Mode+o.Options[k8s.OptionClass]+o.Options[k8s.OptionAddress])
	p, err := d.Provision(t.Context(), o)
	if err != nil {
		return err
	}
	return p.Close(t.Context())
}

// checkUnsupported expects a mode to be unsupported with a reason of one line.
func checkUnsupported(t *testing.T, d *k8s.Driver, run lab.Spec, o driver.Order, want string) {
	t.Helper()
	err := provision(t, d, run, o)
	var u *driver.Unsupported
	if !errors.As(err, &u) || !strings.Contains(u.Reason, want) || strings.Contains(u.Reason, "\n") {
		t.Errorf("%s: %v, want it unsupported with %q", o.Mode, err, want)
	}
}

// checkAbsent checks what is said of modes and options that a cluster without controllers lacks.
func checkAbsent(t *testing.T, c *kubetest.Cluster, d *k8s.Driver, run lab.Spec) {
	t.Helper()
	c.Create(t, `{"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "edge"}, "spec": {"controller": "example.org/edge"}}`,
		`{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "plain"}, "handler": "runc"}`)
	checkUnsupported(t, d, run, driver.Order{Mode: "k8s/network:second"}, "install Multus")
	checkUnsupported(t, d, run, driver.Order{Mode: "k8s/network:default/second"}, "install Multus")
	checkUnsupported(t, d, run, driver.Order{Mode: "k8s/ingress:none"}, "no IngressClass none; it has edge")
	checkUnsupported(t, d, run, driver.Order{Mode: "k8s/gateway:default/web"}, "install the Gateway API")
	checkUnsupported(t, d, run, driver.Order{Mode: "k8s/pod-local", Options: map[string]string{k8s.OptionRuntimeClass: "none"}}, "no runtime class none; it has plain")
}

// checkOptions checks that the services of a mode and its runtime class exist while it does.
func checkOptions(t *testing.T, c *kubetest.Cluster, d *k8s.Driver, run lab.Spec) {
	t.Helper()
	count := func() int {
		return len(strings.Fields(c.Kubectl(t, "", "get", "services,endpointslices", "-n", kube.Name(run.Claim.ID), "-l", kube.LabelPart+"="+kube.Name(run.Claim.ID, "options", "decoy"), "-o", "name")))
	}
	const services = 20
	o := driver.Order{Mode: "k8s/pod-local", Pairs: 1, Options: map[string]string{k8s.OptionServices: strconv.Itoa(services), k8s.OptionRuntimeClass: "plain"}}
	o = drivertest.SpecOn(run, o).Order
	o.Label = "options"
	p := must.Get(d.Provision(t.Context(), o))(t)
	must.Equal(t, 2*services, count())
	pods := c.Kubectl(t, "", "get", "pods", "-n", kube.Name(run.Claim.ID), "-l", "io.tare.mode="+o.Label, "-o", "jsonpath={.items[*].spec.runtimeClassName}")
	must.EqualFor(t, "runtime classes", "plain plain", pods)
	for _, want := range []result.Fact{{Name: "services without traffic", Value: "20"}, {Name: "runtime class", Value: "plain"}} {
		if !slices.Contains(p.Facts, want) {
			t.Errorf("facts %v lack %v", p.Facts, want)
		}
	}
	must.Do(t, p.Close(t.Context()))
	must.Equal(t, 0, count())
}

// Options with values that they cannot have, and of modes that do not have them, are named.
func TestWrongOptions(t *testing.T) {
	d := k8s.New(k8s.Options{Options: kube.Options{Kubeconfig: "/none"}})
	for _, c := range []struct{ mode, option, value, want string }{
		{"k8s/pod", k8s.OptionServices, "many", "it must be a number from 0 to 100000"},
		{"k8s/pod", k8s.OptionPolicies, "-1", "it must be a number from 0 to 100000"},
		{"k8s/pod", k8s.OptionServices, "100001", "it must be a number from 0 to 100000"},
		{"k8s/pod", k8s.OptionRuntimeClass, "", "it must be a name"},
		{"k8s/loadbalancer", k8s.OptionClass, "", "it must be a name"},
		{"k8s/loadbalancer", k8s.OptionPolicy, "Else", "it must be Cluster or Local"},
		{"k8s/pod", k8s.OptionClass, "x", "mode k8s/pod has no option class"},
		{"k8s/service", k8s.OptionPolicy, "Local", "mode k8s/service has no option policy"},
		{"k8s/pod", k8s.OptionAddress, "192.0.2.1", "mode k8s/pod has no option address"},
		{"k8s/ingress:edge", k8s.OptionAddress, "edge:80", `option address is "edge:80"; it must be an IP address`},
		{"k8s/gateway:web", k8s.OptionAddress, "192.0.2.1:0", `option address is "192.0.2.1:0"; it must be an IP address`},
	} {
		_, err := d.Provision(t.Context(), driver.Order{Mode: c.mode, Run: "0", Pairs: 1, Options: map[string]string{c.option: c.value}})
		must.FailFor(t, fmt.Sprintf("%s, %s=%q", c.mode, c.option, c.value), err, c.want)
	}
}

// checkIPv6 expects the path of a mode to be proven over IPv6, too.
func checkIPv6(t *testing.T, s *drivertest.Setup) {
	t.Helper()
	reports, err := s.TrialPairs(t, drivertest.Params("tcp_stream"), true, 1)
	if err != nil || reports[0].Server.Received == 0 {
		t.Errorf("over IPv6: %v", err)
	}
}

// checkLoadBalancer checks what is told of a service's external address, that packets to another pod
// do not pass as the path, and what is said if no address is left.
func checkLoadBalancer(t *testing.T, c *kubetest.Cluster, d *k8s.Driver, s *drivertest.Setup, run lab.Spec) {
	t.Helper()
	if got := fact(t, s, "load balancer"); !strings.HasPrefix(got, "not passed") {
		t.Errorf("load balancer: %s", got)
	}
	dialled := s.Path.Pairs[0].Server.Dial[0].Addr()
	if want := c.Balanced()[0]; dialled != want {
		t.Errorf("external address %s, want %s, that of MetalLB", dialled, want)
	}
	if got := fact(t, s, "destination address"); !strings.HasPrefix(got, "translated from "+dialled.String()) {
		t.Errorf("destination address: %s", got)
	}
	var second sync.WaitGroup
	second.Go(func() {
		checkUnsupported(t, d, run, driver.Order{Mode: "k8s/loadbalancer"}, "metallb-controller says: AllocationFailed: ")
	})
	checkWrongEndpoint(t, c, s, run, kube.Name(run.Claim.ID))
	second.Wait()
}

// checkOtherDevice checks that IPv6 is left out, and IPv4 is not, if node a reaches node b and its
// pods over IPv6 by another device.
func checkOtherDevice(t *testing.T, c *kubetest.Cluster, d *k8s.Driver, run lab.Spec) {
	t.Helper()
	c.OnNode(t, c.Lab.A, "ip", "link", "add", "other0", "up", "type", "bridge")
	c.OnNode(t, c.Lab.A, "ip", "-6", "route", "add", c.PodsIPv6(c.Lab.B).String(), "dev", "other0", "metric", "1")
	c.OnNode(t, c.Lab.A, "ip", "-6", "route", "add", netip.PrefixFrom(c.Lab.B.Addr[1], 128).String(), "dev", "other0")
	defer c.OnNode(t, c.Lab.A, "ip", "link", "delete", "other0")
	for _, mode := range []string{"k8s/pod", "k8s/pod-to-node"} {
		o := drivertest.SpecOn(run, driver.Order{Mode: mode, Pairs: 1}).Order
		o.Label = "other"
		p := must.Get(d.Provision(t.Context(), o))(t)
		want := result.Fact{Name: "IPv6", Value: "left out: on node " + kubetest.NodeA + " its packets take device other0, and those of IPv4 take " + lab.Underlay}
		if dial := p.Pairs[0].Server.Dial; !slices.Contains(p.Facts, want) || len(dial) != 1 || dial[0].Addr().Is6() {
			t.Errorf("%s: dialled at %v, facts %v, want %v", mode, dial, p.Facts, want)
		}
		must.Do(t, p.Close(t.Context()))
	}
}

// checkNoNetwork checks what is said of networks that pods cannot have beside their own.
func checkNoNetwork(t *testing.T, c *kubetest.Cluster, d *k8s.Driver, run lab.Spec) {
	t.Helper()
	c.Create(t, `{"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "metadata": {"name": "primary", "namespace": "default"}, "spec": {"config": "{\"type\": \"ovn-k8s-cni-overlay\", \"role\": \"primary\"}"}}`,
		`{"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "metadata": {"name": "primary", "namespace": "kube-public"}, "spec": {}}`,
		`{"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "metadata": {"name": "bare", "namespace": "default"}, "spec": {"config": "{\"cniVersion\": \"0.4.0\", \"name\": \"bare\", \"type\": \"macvlan\", \"master\": \"eth0\"}"}}`)
	checkUnsupported(t, d, run, driver.Order{Mode: "k8s/network:none"}, "no NetworkAttachmentDefinition none; it has default/bare, default/primary, default/second, kube-public/primary")
	checkUnsupported(t, d, run, driver.Order{Mode: "k8s/network:primary"}, "name one by NAMESPACE/NAME")
	checkUnsupported(t, d, run, driver.Order{Mode: "k8s/network:default/primary"}, "replaces the pod network")
	checkUnsupported(t, d, run, driver.Order{Mode: "k8s/network:bare"}, "network default/bare gives pods no address")
	const second, none, network, ingress, gateway = "k8s/network:second", "k8s/network:none", "k8s/network:NAME", "k8s/ingress:NAME", "k8s/gateway:none"
	found, err := d.Check(t.Context(), []string{second, none, network, ingress, gateway}, nil)
	if err != nil || found.Run != nil || found.Modes[second] != nil {
		t.Errorf("check: %v, %v, %v", err, found.Run, found.Modes)
	}
	for mode, want := range map[string]string{none: "no NetworkAttachmentDefinition none", network: "name one of them, such as k8s/network:", ingress: "name one of them, such as k8s/ingress:", gateway: "the cluster has no Gateway none; it has default/closed, default/web"} {
		must.FailFor(t, fmt.Sprintf("%s would be left out", mode), found.Modes[mode], want)
	}
}

// checkNetwork checks what is told of an additional network, and that packets over the pods' own
// network do not pass as the path.
func checkNetwork(t *testing.T, c *kubetest.Cluster, s *drivertest.Setup) {
	t.Helper()
	must.EqualFor(t, "device in the pods", "net1 (macvlan), MTU 1500", fact(t, s, "device in the pods"))
	server := &s.Path.Pairs[0].Server
	pods := strings.Fields(c.Kubectl(t, "", "get", "pods", "-A", "-l", "io.tare.endpoint=server,io.tare.mode="+label(s.Path.Mode), "-o", "jsonpath={.items[*].status.podIP}"))
	if len(pods) != 1 {
		t.Fatalf("servers %v", pods)
	}
	own := netip.AddrPortFrom(netip.MustParseAddr(pods[0]), server.Listen[0].Port())
	if slices.Contains(server.Listen, own) {
		t.Fatalf("the server listens on %s, the pod's own address", own)
	}
	server.Listen[0], server.Dial[0] = own, own
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err == nil || !strings.Contains(err.Error(), "net1") && !strings.Contains(err.Error(), "eth0") {
		t.Errorf("packets over the pods' own network: %v", err)
	}
}

// checkOutside checks the path through a load balancer outside of the nodes' own rules, which the
// cluster reports as such: node b's nftables do its work, on an address that no service rule has.
func checkOutside(t *testing.T, c *kubetest.Cluster, d *k8s.Driver, run lab.Spec) {
	t.Helper()
	o := driver.Order{Mode: "k8s/loadbalancer", Pairs: 1, Options: map[string]string{k8s.OptionClass: "example.org/outside"}}
	o = drivertest.SpecOn(run, o).Order
	o.Label = "outside"
	type provisioned struct {
		path *driver.Path
		err  error
	}
	done := make(chan provisioned, 1)
	go func() {
		p, err := d.Provision(t.Context(), o)
		done <- provisioned{p, err}
	}()
	space, name := kube.Name(run.Claim.ID), kube.Name(run.Claim.ID, o.Label, "b", "server")
	var pod netip.Addr
	c.Until(t, "the server's pod", func() bool {
		out, err := c.TryKubectl(t, "", "get", "pod", name, "-n", space, "-o", "jsonpath={.status.podIP}")
		if err == nil {
			pod, err = netip.ParseAddr(out)
		}
		return err == nil
	})
	at := c.Lab.Addresses(lab.NetUnderlay, 230)[0].Addr()
	c.OnNode(t, c.Lab.B, "ip", "address", "add", at.String()+"/32", "dev", lab.Underlay)
	c.OnNode(t, c.Lab.B, "nft", fmt.Sprintf("add table ip outside; add chain ip outside in { type nat hook prerouting priority -110; }; add rule ip outside in ip daddr %s dnat to %s", at, pod))
	status := fmt.Sprintf(`{"status": {"loadBalancer": {"ingress": [{"ip": %q, "ipMode": "Proxy"}]}}}`, at)
	c.Until(t, "the service", func() bool {
		_, err := c.TryKubectl(t, "", "patch", "service", name, "-n", space, "--subresource=status", "--type=merge", "-p", status)
		return err == nil
	})
	made := <-done
	if made.err != nil {
		t.Fatal(made.err)
	}
	s := drivertest.StartAgents(t, made.path, o)
	s.CheckTopology(t)
	reports, err := s.TrialPairs(t, drivertest.Params("tcp_stream"), false, 1)
	if err != nil || reports[0].Server.Received == 0 {
		t.Error(err)
	}
	for name, want := range map[string]string{"load balancer": "passed by the packets", "replies": "past the load balancer", "source address": "kept", "destination address": "translated from " + at.String()} {
		if got := fact(t, s, name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
