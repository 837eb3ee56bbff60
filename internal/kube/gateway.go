package kube

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/kube/api"
)

// Gateway is a gateway of the cluster (Gateway API), with its listener that takes requests in the clear for hosts
// of a run.
type Gateway struct {
	Namespace, Name string
	Class           string
	Addresses       []netip.Addr // IPv4 first
	Port            uint16
	listener        string
	suffix          string // of the hosts that the listener has, empty for any
}

// NoGateway is the error that a cluster has no such gateway, or none that can be measured.
type NoGateway struct{ Reason string }

func (n *NoGateway) Error() string { return n.Reason }

// String returns the gateway's namespace and name.
func (g *Gateway) String() string { return g.Namespace + "/" + g.Name }

// Host returns a name for requests through the gateway: name as a host that does not exist elsewhere, or below the
// domain of the listener.
func (g *Gateway) Host(name string) string {
	if g.suffix != "" {
		return name + g.suffix
	}
	return name + ".invalid"
}

// Gateway finds a gateway by name, or by namespace/name, for which it need not be listed. It returns a *NoGateway if the
// cluster has none of that name, or it takes no requests in the clear.
func (c *Cluster) Gateway(ctx context.Context, name string) (*Gateway, error) {
	found, err := c.gateway(ctx, name)
	if err != nil {
		return nil, err
	}
	g := &Gateway{Namespace: found.Namespace, Name: found.Name, Class: found.Spec.GatewayClassName}
	for _, of := range []string{api.ConditionAccepted, api.ConditionProgrammed} {
		if why, refused := refusal(found.Status.Conditions, of); refused {
			return nil, &NoGateway{fmt.Sprintf("Gateway %s of class %s is not %s: %s", g, g.Class, strings.ToLower(of), why)}
		}
	}
	var all []string
	for _, l := range found.Spec.Listeners {
		wildcard := strings.HasPrefix(l.Hostname, "*.")
		if l.Protocol == "HTTP" && (l.Hostname == "" || wildcard) && g.listener == "" {
			g.listener, g.Port, g.suffix = l.Name, uint16(l.Port), strings.TrimPrefix(l.Hostname, "*")
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s (%s %s", l.Name, l.Protocol, l.Hostname))+")")
	}
	if g.listener == "" {
		return nil, &NoGateway{fmt.Sprintf("Gateway %s has no listener with protocol HTTP for any host or for all below a domain; it has %s", g, strings.Join(all, ", "))}
	}
	var values []string
	for _, a := range found.Status.Addresses {
		values = append(values, a.Value)
	}
	g.Addresses = addressesOf(ctx, values)
	return g, nil
}

// gateway finds a gateway.
func (c *Cluster) gateway(ctx context.Context, name string) (g api.Gateway, err error) {
	const install = "install the Gateway API with a controller"
	if space, short, full := strings.Cut(name, "/"); full {
		err := c.get(ctx, in(gatewayV, space, "gateways", short), nil, &g)
		if isNotFound(err) {
			return g, &NoGateway{fmt.Sprintf("there is no Gateway %s; create it, and if the cluster has no such resource, %s", name, install)}
		}
		return g, c.fail(err, "look for the gateway %s", name)
	}
	var list api.GatewayList
	err = c.get(ctx, gatewayV+"/gateways", nil, &list)
	if isNotFound(err) {
		return g, &NoGateway{"the cluster has no Gateways: " + install}
	}
	if err != nil {
		return g, c.fail(err, "list the gateways of all namespaces; name one by NAMESPACE/NAME to look only there")
	}
	var all []string
	var found []api.Gateway
	for _, one := range list.Items {
		all = append(all, one.Namespace+"/"+one.Name)
		if name == one.Name {
			found = append(found, one)
		}
	}
	slices.Sort(all)
	switch {
	case len(all) == 0:
		return g, &NoGateway{"the cluster has no Gateway in any namespace; create one"}
	case len(found) == 0:
		return g, &NoGateway{fmt.Sprintf("the cluster has no Gateway %s; it has %s", name, strings.Join(all, ", "))}
	case len(found) > 1:
		return g, &NoGateway{fmt.Sprintf("the cluster has %d Gateways %s; name one by NAMESPACE/NAME: %s", len(found), name, strings.Join(all, ", "))}
	}
	return found[0], nil
}

// refusal returns the reason that a controller gives for a condition that is false.
func refusal(all []metav1.Condition, of string) (why string, refused bool) {
	for _, c := range all {
		if c.Type == of && c.Status == metav1.ConditionFalse {
			return c.Reason + ": " + sentence(c.Message), true
		}
	}
	return "", false
}

// CreateHTTPRoute creates an HTTPRoute at a gateway.
func (c *Cluster) CreateHTTPRoute(ctx context.Context, spec RouteSpec, g *Gateway) (*Route, error) {
	r := &Route{RouteSpec: spec, kind: kind{gatewayV, "httproutes", "HTTP route"}, cluster: c}
	h := api.HTTPRoute{TypeMeta: typeOf("gateway.networking.k8s.io/v1", "HTTPRoute"), ObjectMeta: spec.meta(), Spec: api.HTTPRouteSpec{
		ParentRefs: []api.ParentRef{{Namespace: g.Namespace, Name: g.Name, SectionName: g.listener}}, Hostnames: []string{spec.Host},
		Rules: []api.HTTPRouteRule{{BackendRefs: []api.BackendRef{{Name: spec.Service.Name, Port: spec.port()}}}},
	}}
	if err := c.post(ctx, in(gatewayV, spec.Namespace, "httproutes"), h, nil); err != nil {
		return nil, c.fail(err, "create HTTP route %s in namespace %s", spec.Name, spec.Namespace)
	}
	return r, nil
}

// AwaitHTTPRoute waits until the controller of a gateway has accepted an HTTPRoute. It returns a *NoRoute if it does not.
func (r *Route) AwaitHTTPRoute(ctx context.Context, g *Gateway) error {
	var why string
	var since time.Time
	err := poll(ctx, routeTimeout(), errTooSlow, func() (bool, error) {
		var now api.HTTPRoute
		if err := r.cluster.get(ctx, in(gatewayV, r.Namespace, "httproutes", r.Name), nil, &now); err != nil {
			return false, r.cluster.fail(err, "look at HTTP route %s", r.Name)
		}
		accepted, refused := accepts(now.Status.Parents)
		switch {
		case refused == "":
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > refusalTimeout():
			why = refused
			return true, nil
		}
		return accepted, nil
	})
	switch {
	case why != "":
		return &NoRoute{fmt.Sprintf("Gateway %s does not accept an HTTPRoute of namespace %s: %s", g, r.Namespace, why)}
	case errors.Is(err, errTooSlow):
		return &NoRoute{fmt.Sprintf("the controller of Gateway %s (class %s) did not react to an HTTPRoute within %s; check that it runs", g, g.Class, routeTimeout())}
	}
	return err
}

// accepts reports what the only parent of a route says: that it has the route and its services, or why not.
func accepts(parents []api.RouteParent) (accepted bool, refused string) {
	for _, p := range parents {
		for _, of := range []string{api.ConditionAccepted, api.ConditionResolvedRefs} {
			if why, is := refusal(p.Conditions, of); is {
				return false, why
			}
		}
		for _, c := range p.Conditions {
			accepted = accepted || c.Type == api.ConditionAccepted && c.Status == metav1.ConditionTrue
		}
	}
	return accepted, ""
}
