package k8s

import (
	"context"
	"fmt"
	"strings"

	"tare/internal/driver"
)

// ingressMode is the mode with an ingress controller, before the name of its class.
const ingressMode = "k8s/ingress:"

// checkIngress says why the path through an ingress controller is not measured: it ends each
// connection and forwards the HTTP requests in it, so that the counters of a connection prove nothing of what is behind it.
func (d *Driver) checkIngress(ctx context.Context, mode string) error {
	c, _ := d.Cluster()
	all, err := c.IngressClasses(ctx)
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(mode, ingressMode)
	class, ok := findClass(all, name)
	if !ok {
		return &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf("cluster %s has no IngressClass %s; it has %s", c.Context, name, classNames(all))}
	}
	return &driver.Unsupported{Mode: mode, Reason: fmt.Sprintf(
		"the controller of IngressClass %s (%s) forwards HTTP requests only, and this version of tare proves no path through one; measure the path to its address with k8s/loadbalancer or k8s/nodeport, and the controller with a load generator for HTTP", name, class.Controller)}
}
