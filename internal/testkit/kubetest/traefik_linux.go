package kubetest

import (
	"fmt"
	"path/filepath"
	"testing"
)

// The ingress class and the gateway, in the namespace default, of a cluster with Traefik.
const (
	IngressClass = "traefik"
	Gateway      = "web"
	// ClosedGateway is a gateway that takes routes of its own namespace alone.
	ClosedGateway = "closed"
)

// StartTraefik starts Traefik on the network of node a, as controller of IngressClass and of the gateways. It ends with
// the cluster.
func (c *Cluster) StartTraefik(t testing.TB) {
	t.Helper()
	c.Kubectl(t, "", "create", "--validate=false", "-f", filepath.Join(c.programs, "gateway"))
	gateway := func(name, from string) string {
		return fmt.Sprintf(`{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": %q, "namespace": "default"}, "spec": {"gatewayClassName": "traefik",
"listeners": [{"name": "own", "protocol": "HTTP", "port": 80, "hostname": "one.example.org"}, {"name": "http", "protocol": "HTTP", "port": 80, "allowedRoutes": {"namespaces": {"from": %q}}}]}}`, name, from)
	}
	c.Create(t, fmt.Sprintf(`{"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": %q}, "spec": {"controller": "traefik.io/ingress-controller"}}`, IngressClass),
		`{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "traefik"}, "spec": {"controllerName": "traefik.io/gateway-controller"}}`,
		gateway(Gateway, "All"), gateway(ClosedGateway, "Same"))
	at := c.Lab.A.Addr[0].String()
	c.boot(t, c.Lab.A, "traefik", []step{{Name: "traefik", Args: []string{
		"/usr/bin/env", "KUBECONFIG=" + c.path("local-admin.kubeconfig"), c.bin("traefik"),
		"--global.checknewversion=false", "--global.sendanonymoususage=false", "--entrypoints.web.address=:80", "--providers.providersthrottleduration=100ms",
		"--providers.kubernetesingress=true", "--providers.kubernetesingress.ingressendpoint.ip=" + at,
		"--providers.kubernetesgateway=true", "--providers.kubernetesgateway.statusaddress.ip=" + at,
	}}})
}
