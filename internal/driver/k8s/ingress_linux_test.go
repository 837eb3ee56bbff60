package k8s_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/k8s"
	"tare/internal/lab"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
)

// checkThrough builds a mode through Traefik, which must be proven for requests of every kind, and void for those past it.
func checkThrough(t *testing.T, c *kubetest.Cluster, d *k8s.Driver, run lab.Spec, mode string) {
	t.Helper()
	o := drivertest.SpecOn(run, driver.Order{Mode: mode, Pairs: 2}).Order
	o.Label = label(mode)
	s := drivertest.BuildOn(t, d, o)
	s.CheckTopology(t)
	at := c.Lab.A.Addr[0].String()
	for name, want := range map[string]string{
		"address of the proxy": at + ":80", "client's address in X-Forwarded-For": "kept", "proxy as the server sees it": at + ", on the network of node " + kubetest.NodeA,
	} {
		must.EqualFor(t, name, want, fact(t, s, name))
	}
	flows, closing, long := drivertest.Params("http"), drivertest.Params("http"), drivertest.Params("http")
	flows.Streams, closing.KeepAlive, long.RequestSize, long.ResponseSize = 8, study.Off, 0, 300_000
	for name, p := range map[string]struct {
		of    int
		trial func() ([]drivertest.Reports, error)
	}{
		"flows":   {2, func() ([]drivertest.Reports, error) { return s.TrialPairs(t, flows, false, 2) }},
		"closing": {1, func() ([]drivertest.Reports, error) { return s.TrialPairs(t, closing, false, 1) }},
		"long":    {1, func() ([]drivertest.Reports, error) { return s.TrialPairs(t, long, false, 1) }},
	} {
		all, err := p.trial()
		must.EqualFor(t, name, nil, err)
		for i, r := range all {
			must.EqualFor(t, fmt.Sprintf("%s: answered by pair %d", name, i+1), []int64{r.Client.Messages, r.Server.Messages, 0}, []int64{r.Server.Messages, r.Server.Forwarded, r.Client.Failed})
		}
	}
	kinds := []string{"http"}
	if strings.HasPrefix(mode, "k8s/gateway:") {
		kinds = append(kinds, "http2", "grpc")
	}
	for _, kind := range kinds[1:] {
		all, err := s.TrialPairs(t, drivertest.Params(kind), false, 1)
		must.EqualFor(t, kind, nil, err)
		must.EqualFor(t, kind+": answered", []int64{all[0].Client.Messages, all[0].Server.Messages, 0}, []int64{all[0].Server.Messages, all[0].Server.Forwarded, all[0].Client.Failed})
	}
	s.ConformsFanIn(t, kinds[len(kinds)-1], false)
	checkReplaced(t, s)
	server := &s.Path.Pairs[0].Server
	server.Dial[0] = netip.AddrPortFrom(server.Listen[0].Addr(), server.Listen[0].Port())
	for _, kind := range kinds {
		s.Void(t, drivertest.Params(kind), "server.forwarded_requests")
	}
}

// checkNoController checks what is said of classes and gateways whose controller does not lead requests to a run.
func checkNoController(t *testing.T, c *kubetest.Cluster, d *k8s.Driver, run lab.Spec) {
	t.Helper()
	for _, tt := range []struct {
		of   driver.Order
		want string
	}{
		{driver.Order{Mode: "k8s/ingress:edge"}, "the controller of IngressClass edge (example.org/edge) gave an Ingress no address"},
		{driver.Order{Mode: "k8s/ingress:edge", Options: map[string]string{k8s.OptionAddress: c.Lab.A.Addr[0].String()}}, "is answered with status 404 Not Found; check that its controller runs"},
		{driver.Order{Mode: "k8s/gateway:" + kubetest.ClosedGateway}, "Gateway default/closed does not accept an HTTPRoute of namespace"},
	} {
		t.Run(tt.of.Mode+tt.of.Options[k8s.OptionAddress], func(t *testing.T) {
			t.Parallel()
			checkUnsupported(t, d, run, tt.of, tt.want)
		})
	}
}
