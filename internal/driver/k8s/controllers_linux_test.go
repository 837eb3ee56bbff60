package k8s_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/drivertest"
	"tare/internal/driver/k8s"
	"tare/internal/kube/kubetest"
	"tare/internal/lab"
)

// provision builds a mode and removes it again, and returns its error.
func provision(t *testing.T, d *k8s.Driver, run lab.Spec, o driver.ModeSpec) error {
	t.Helper()
	o.Pairs, o.Label = 1, "absent"
	p, err := d.Provision(t.Context(), drivertest.SpecOn(run, o).ModeSpec)
	if err != nil {
		return err
	}
	return p.Close(t.Context())
}

// checkAbsent checks what is said of modes and options that a cluster without controllers lacks.
func checkAbsent(t *testing.T, d *k8s.Driver, run lab.Spec) {
	t.Helper()
	for _, c := range []struct {
		o    driver.ModeSpec
		want string
	}{
		{driver.ModeSpec{Mode: "k8s/loadbalancer"}, "install a controller"},
		{driver.ModeSpec{Mode: "k8s/network:second"}, "install Multus"},
		{driver.ModeSpec{Mode: "k8s/pod-local", Options: map[string]string{k8s.OptionRuntimeClass: "none"}}, "no runtime class none; it has none"},
	} {
		err := provision(t, d, run, c.o)
		var u *driver.Unsupported
		if !errors.As(err, &u) || !strings.Contains(u.Reason, c.want) || strings.Contains(u.Reason, "\n") {
			t.Errorf("%s: %v, want it unsupported with %q", c.o.Mode, err, c.want)
		}
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

// checkLoadBalancer checks what is told of a service's external address, and that packets to
// somebody else who has that address do not pass as the path.
func checkLoadBalancer(t *testing.T, c *kubetest.Cluster, s *drivertest.Setup, run lab.Spec) {
	t.Helper()
	if got := fact(t, s, "load balancer"); !strings.HasPrefix(got, "not passed") {
		t.Errorf("load balancer: %s", got)
	}
	dialled := s.Path.Pairs[0].Server.Dial[0].Addr()
	if first := c.Lab.Addresses(lab.NetUnderlay, 200)[0].Addr(); dialled != first {
		t.Errorf("external address %s, want %s, the first one of MetalLB", dialled, first)
	}
	if got := fact(t, s, "destination address"); !strings.HasPrefix(got, "translated from "+dialled.String()) {
		t.Errorf("destination address: %s", got)
	}
	checkWrongEndpoint(t, c, s, run)
}

// checkNetwork checks what is told of an additional network, and that packets over the pods' own
// network do not pass as the path.
func checkNetwork(t *testing.T, c *kubetest.Cluster, s *drivertest.Setup) {
	t.Helper()
	if got := fact(t, s, "device in the pods"); got != "net1 (macvlan), MTU 1500" {
		t.Errorf("device in the pods: %s", got)
	}
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
