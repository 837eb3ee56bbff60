package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"tare/internal/kube/api"
	"tare/internal/timelimit"
)

// Balancer is the load balancer of a service.
type Balancer struct {
	Addresses []netip.Addr // external ones of the service, IPv4 first
	Name      string       // the name that has them, if the cluster reports a name
	// Direct means that clients in the cluster reach the pods without the load balancer: the
	// nodes translate its addresses themselves. The cluster reports the other case.
	Direct bool
}

// NoBalancer is the error that a cluster does not give a service an external address.
type NoBalancer struct{ Reason string }

func (n *NoBalancer) Error() string { return n.Reason }

// The timeouts for an external address: until somebody must have begun to provide one, and until
// it must be there. Controllers of clouds create a machine for it.
func balancerBegins() time.Duration { return timelimit.Scaled(10 * time.Second) }
func balancerEnds() time.Duration   { return timelimit.Scaled(4 * time.Minute) }

// balancerInterval is the time between two looks at a load balancer that somebody provides.
const balancerInterval = time.Second

// AwaitBalancer waits until the service has an external address. It returns a *NoBalancer if the
// cluster has no controller for it, or one that refuses.
func (s *Service) AwaitBalancer(ctx context.Context) (Balancer, error) {
	var b Balancer
	look := func() (done bool, err error) {
		b, done, err = s.balancer(ctx)
		return done, err
	}
	err := poll(ctx, balancerBegins(), errTooSlow, look)
	if !errors.Is(err, errTooSlow) {
		return b, err
	}
	last, err := s.cluster.lastEvent(ctx, s.Namespace, "Service", s.Name)
	switch {
	case err != nil:
		return b, err
	case last == nil:
		return b, &NoBalancer{fmt.Sprintf("no service of type LoadBalancer gets an external address: %s after one was created, nothing had reacted to it; install a controller on the cluster, such as MetalLB, kube-vip or your cloud's controller manager", balancerBegins())}
	case last.Type != api.EventTypeWarning:
		if err := pollEvery(ctx, balancerInterval, balancerEnds(), errTooSlow, look); !errors.Is(err, errTooSlow) {
			return b, err
		}
		if last, err = s.cluster.lastEvent(ctx, s.Namespace, "Service", s.Name); err != nil {
			return b, err
		}
	}
	who, said := "its controller", "nothing"
	if last != nil {
		who, said = last.Source.Component, says(last)
	}
	return b, &NoBalancer{fmt.Sprintf("a service of type LoadBalancer got no external address; %s says: %s", who, said)}
}

// balancer returns the load balancer of the service, and whether it has addresses.
func (s *Service) balancer(ctx context.Context) (b Balancer, done bool, err error) {
	var now api.Service
	if err := s.cluster.get(ctx, in(core, s.Namespace, "services", s.Name), nil, &now); err != nil {
		return b, false, s.cluster.fail(err, "look at service %s", s.Name)
	}
	for _, i := range now.Status.LoadBalancer.Ingress {
		if addr, err := netip.ParseAddr(i.IP); err == nil {
			b.Addresses = append(b.Addresses, addr)
			b.Direct = i.IPMode == nil || *i.IPMode == api.LoadBalancerIPModeVIP
		} else if i.Hostname != "" {
			// Nothing in the cluster translates the addresses of a name. A new name may
			// not resolve at first.
			found, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", i.Hostname)
			for _, a := range found {
				b.Addresses = append(b.Addresses, a.Unmap())
			}
			b.Name = i.Hostname
		}
	}
	slices.SortStableFunc(b.Addresses, func(x, y netip.Addr) int { return x.BitLen() - y.BitLen() })
	return b, len(b.Addresses) > 0, nil
}

// lastEvent returns the last event about an object, of those with further fields such as type=Warning; nil if there is none.
func (c *Cluster) lastEvent(ctx context.Context, namespace, kind, name string, further ...string) (*api.Event, error) {
	var list api.EventList
	fields := append([]string{"involvedObject.kind=" + kind, "involvedObject.name=" + name}, further...)
	query := url.Values{"fieldSelector": {strings.Join(fields, ",")}}
	if err := c.get(ctx, in(core, namespace, "events"), query, &list); err != nil {
		return nil, c.fail(err, "list the events of %s %s", kind, name)
	}
	var last *api.Event
	for i, e := range list.Items {
		if last == nil || !e.LastTimestamp.Before(&last.LastTimestamp) {
			last = &list.Items[i]
		}
	}
	return last, nil
}

// says returns what an event says.
func says(e *api.Event) string { return e.Reason + ": " + sentence(e.Message) }
