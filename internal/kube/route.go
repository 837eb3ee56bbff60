package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/kube/api"
	"tare/internal/timelimit"
)

// HTTPPort is the port at which an ingress controller receives requests in the clear.
const HTTPPort = 80

// RouteSpec describes how a controller of the cluster leads requests to a service of a run.
type RouteSpec struct {
	Run, Name, Namespace string
	Host                 string // that the requests name
	Service              *Service
	HTTP2                bool // to the service's port for HTTP/2
}

// port returns the port of the service.
func (r RouteSpec) port() int32 {
	if r.HTTP2 {
		return int32(r.Service.Port) + 1
	}
	return int32(r.Service.Port)
}

// Route is an object by which a controller leads requests to a service: an Ingress, or an HTTPRoute.
type Route struct {
	RouteSpec
	kind    kind
	cluster *Cluster
}

// NoRoute is the error that a controller leads no requests to a service.
type NoRoute struct{ Reason string }

func (n *NoRoute) Error() string { return n.Reason }

// routeTimeout bounds how long a controller may take until it reacts to an object.
func routeTimeout() time.Duration { return timelimit.Scaled(15 * time.Second) }

// refusalTimeout bounds how long a controller may take until it accepts what it has refused: the objects that a
// route names may come later.
func refusalTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// Remove removes the object. It is no error if it is already gone.
func (r *Route) Remove(ctx context.Context) error {
	return r.cluster.removeOne(ctx, r.Namespace, r.kind, r.Name)
}

// meta returns the metadata of the object.
func (r RouteSpec) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: r.Name, Namespace: r.Namespace, Labels: labels(r.Run, "route")}
}

// CreateIngress creates an Ingress of a class.
func (c *Cluster) CreateIngress(ctx context.Context, spec RouteSpec, class string) (*Route, error) {
	r := &Route{RouteSpec: spec, kind: kind{networking, "ingresses", "ingress"}, cluster: c}
	path := api.IngressPath{Path: "/", PathType: ptr(api.PathTypePrefix), Backend: api.IngressBackend{
		Service: &api.IngressService{Name: spec.Service.Name, Port: api.IngressPort{Number: spec.port()}},
	}}
	i := api.Ingress{ObjectMeta: spec.meta(), Spec: api.IngressSpec{
		IngressClassName: &class, Rules: []api.IngressRule{{Host: spec.Host, HTTP: &api.IngressHTTP{Paths: []api.IngressPath{path}}}},
	}}
	if err := c.post(ctx, in(networking, spec.Namespace, "ingresses"), i, nil); err != nil {
		return nil, c.fail(err, "create ingress %s in namespace %s", spec.Name, spec.Namespace)
	}
	return r, nil
}

// AwaitIngress waits until an Ingress of a class has addresses, and returns them, IPv4 first. Controllers of clouds create
// a load balancer for it: one that says that it works on it has longer. It returns a *NoRoute if there are none.
func (r *Route) AwaitIngress(ctx context.Context, class Class) ([]netip.Addr, error) {
	var found []netip.Addr
	look := func() (bool, error) {
		var now api.Ingress
		if err := r.cluster.get(ctx, in(networking, r.Namespace, "ingresses", r.Name), nil, &now); err != nil {
			return false, r.cluster.fail(err, "look at ingress %s", r.Name)
		}
		var values []string
		for _, i := range now.Status.LoadBalancer.Ingress {
			values = append(values, i.IP, i.Hostname)
		}
		found = addressesOf(ctx, values)
		return len(found) > 0, nil
	}
	err := poll(ctx, routeTimeout(), errTooSlow, look)
	if !errors.Is(err, errTooSlow) {
		return found, err
	}
	// Without the right to list events, nothing is known of its work.
	last, _ := r.cluster.lastEvent(ctx, r.Namespace, "Ingress", r.Name)
	if last != nil && last.Type != api.EventTypeWarning {
		if err := pollEvery(ctx, balancerInterval, balancerEnds(), errTooSlow, look); !errors.Is(err, errTooSlow) {
			return found, err
		}
		last, _ = r.cluster.lastEvent(ctx, r.Namespace, "Ingress", r.Name)
	}
	reason := fmt.Sprintf("the controller of IngressClass %s (%s) gave an Ingress no address", class.Name, class.Controller)
	if last != nil {
		reason += fmt.Sprintf("; %s says: %s", last.Source.Component, says(last))
	}
	return nil, &NoRoute{reason + "; check that it runs, or name its address with the option address"}
}

// addressesOf returns the addresses among values, of which the others are names to be resolved; IPv4 first. A new name
// may not resolve at first.
func addressesOf(ctx context.Context, values []string) (all []netip.Addr) {
	for _, v := range values {
		if addr, err := netip.ParseAddr(v); err == nil {
			all = append(all, addr.Unmap())
		} else if v != "" {
			found, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", v)
			for _, a := range found {
				all = append(all, a.Unmap())
			}
		}
	}
	slices.SortStableFunc(all, func(x, y netip.Addr) int { return x.BitLen() - y.BitLen() })
	return all
}
