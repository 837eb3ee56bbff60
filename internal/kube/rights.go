package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tare/internal/kube/api"
)

// Right is something that a run does on a cluster.
type Right struct {
	Verb, Group, Resource, Subresource string
	// Cluster means that it cannot be granted in a namespace.
	Cluster bool
	// Optional means that without it all modes are measured; For says what is missing then.
	Optional bool
	For      string
}

// resource returns what the right is about, as a Role names it.
func (r Right) resource() string {
	if r.Subresource != "" {
		return r.Resource + "/" + r.Subresource
	}
	return r.Resource
}

// String returns the right as in an error of the API: create services, list endpointslices.discovery.k8s.io.
func (r Right) String() string {
	if r.Group != "" {
		return r.Verb + " " + r.resource() + "." + r.Group
	}
	return r.Verb + " " + r.resource()
}

// same reports whether two rights allow the same.
func (r Right) same(other Right) bool {
	r.Optional, r.For, other.Optional, other.For = false, "", false, ""
	return r == other
}

// The names of API groups in roles.
const (
	groupDiscovery  = "discovery.k8s.io"
	groupNetworking = "networking.k8s.io"
	groupGateway    = "gateway.networking.k8s.io"
)

func rights(why, group, resource string, verbs ...string) (out []Right) {
	resource, sub, _ := strings.Cut(resource, "/")
	for _, verb := range verbs {
		out = append(out, Right{Verb: verb, Group: group, Resource: resource, Subresource: sub, For: why})
	}
	return out
}

// RunRights returns the rights that every run needs. existing means that it uses an existing
// namespace, and named that the user names its nodes.
func RunRights(existing, named bool) []Right {
	nodes := rights("choose two nodes, and tell what they are", "", "nodes", "list")
	nodes[0].Cluster, nodes[0].Optional = true, named
	if named {
		nodes[0].For = "tell what the named nodes are"
	}
	pods := append(rights("endpoints", "", "pods", "create", "get", "delete"),
		rights("start agents, and control them", "", "pods/exec", "create", "get")...)
	explain := append(rights("tell why a pod does not start", "", "events", "list"), rights("name the policies that restrict a pod", groupNetworking, "networkpolicies", "list")...)
	optional(explain)
	if existing {
		return slices.Concat(nodes, pods, rights("find the run's pods to remove them", "", "pods", "list"), explain)
	}
	spaces := rights("namespaces of the run's own", "", "namespaces", "create", "get", "delete")
	gc := rights("find what dead runs left (tare gc --kube)", "", "namespaces", "list")
	gc[0].Optional = true
	return slices.Concat(nodes, wide(append(spaces, gc...)), rights("wait until pods can be created", "", "serviceaccounts", "get"), pods, rights("remove the run's pods", "", "pods", "deletecollection"), explain)
}

// ServiceRights returns those of modes with a service.
func ServiceRights(existing bool) []Right {
	out := append(rights("modes with a service", "", "services", "create", "delete"), rights("wait until a service has its endpoint", groupDiscovery, "endpointslices", "list")...)
	if existing {
		out = append(out, rights("find the run's services to remove them", "", "services", "list")...)
	}
	return out
}

// NodePortRights returns those of modes with a port on the nodes, beyond ServiceRights.
func NodePortRights() []Right {
	return rights("open the port for UDP, too", "", "services", "update")
}

// PolicyRights returns those of modes with network policies.
func PolicyRights(existing bool) []Right {
	out := rights("the option policies", groupNetworking, "networkpolicies", "create")
	if existing {
		out = append(out, rights("the option policies", groupNetworking, "networkpolicies", "list", "delete")...)
	}
	return out
}

// LeadRights returns that to lead a service to another pod, in an event.
func LeadRights(event string) []Right {
	return optional(rights("the event "+event, "", "services", "patch"))
}

// PolicyEventRights returns those to add network policies and remove them, in an event.
func PolicyEventRights(event string) []Right {
	return optional(rights("the event "+event, groupNetworking, "networkpolicies", "create", "list", "deletecollection"))
}

// optional returns rights without which all modes are measured.
func optional(all []Right) []Right {
	for i := range all {
		all[i].Optional = true
	}
	return all
}

// DecoyRights returns those of decoy services.
func DecoyRights(existing bool) []Right {
	out := append(rights("decoy services", "", "services", "create"), rights("decoy services", groupDiscovery, "endpointslices", "create")...)
	if existing {
		out = append(out, rights("decoy services", "", "services", "list", "delete")...)
		out = append(out, rights("decoy services", groupDiscovery, "endpointslices", "list", "delete")...)
	}
	return out
}

// RemoveDecoyRights returns those to remove decoy services before the end of a run.
func RemoveDecoyRights() []Right {
	return append(rights("remove the services of a mode", "", "services", "deletecollection"), rights("remove the services of a mode", groupDiscovery, "endpointslices", "deletecollection")...)
}

// BalancerRights returns those of modes with a load balancer, beyond ServiceRights.
func BalancerRights() []Right {
	return append(rights("wait until a service has its external address", "", "services", "get"), rights("tell whether anything provides an external address", "", "events", "list")...)
}

// IngressRights returns those of modes with an ingress controller, beyond ServiceRights.
func IngressRights(existing bool) []Right {
	verbs := []string{"create", "get", "delete"}
	if existing {
		verbs = append(verbs, "list")
	}
	return append(wide(rights("find the ingress class", groupNetworking, "ingressclasses", "list")), rights("lead requests to a pod", groupNetworking, "ingresses", verbs...)...)
}

// GatewayRights returns those of modes with a gateway, beyond ServiceRights.
func GatewayRights(existing bool) []Right {
	verbs := []string{"create", "get", "delete"}
	if existing {
		verbs = append(verbs, "list")
	}
	all := rights("find a gateway by its name alone", groupGateway, "gateways", "list")
	all[0].Optional = true
	all = wide(append(all, rights("find the gateway and its address", groupGateway, "gateways", "get")...))
	return append(all, rights("lead requests to a pod", groupGateway, "httproutes", verbs...)...)
}

// RuntimeClassRights returns those of the option runtimeClass.
func RuntimeClassRights() []Right {
	out := wide(rights("tell that there is no such runtime class", "node.k8s.io", "runtimeclasses", "list"))
	out[0].Optional = true
	return out
}

// NetworkRights returns those of modes with an additional network.
func NetworkRights() []Right {
	return wide(rights("find the additional network", "k8s.cni.cncf.io", "network-attachment-definitions", "list"))
}

// wide returns rights for the whole cluster.
func wide(all []Right) []Right {
	for i := range all {
		all[i].Cluster = true
	}
	return all
}

// UnionOf returns each right of several lists once. One that any list requires is not optional.
func UnionOf(lists ...[]Right) (out []Right) {
	for _, r := range slices.Concat(lists...) {
		i := slices.IndexFunc(out, r.same)
		if i < 0 {
			out = append(out, r)
		} else if out[i].Optional && !r.Optional {
			out[i] = r
		}
	}
	return out
}

// Lacks returns the first right of a list that is denied, without the optional ones.
func Lacks(needed, denied []Right) (Right, bool) {
	for _, r := range needed {
		if !r.Optional && slices.ContainsFunc(denied, r.same) {
			return r, true
		}
	}
	return Right{}, false
}

// Denied returns those rights that the user does not have in a namespace or, if it is empty, in all
// of them.
func (c *Cluster) Denied(ctx context.Context, namespace string, rights []Right) ([]Right, error) {
	denied, errs := make([]bool, len(rights)), make([]error, len(rights))
	var wg sync.WaitGroup
	for i, r := range rights {
		wg.Go(func() {
			review := api.SelfSubjectAccessReview{Spec: api.SelfSubjectAccessReviewSpec{ResourceAttributes: &api.ResourceAttributes{
				Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource,
			}}}
			if !r.Cluster {
				review.Spec.ResourceAttributes.Namespace = namespace
			}
			var answer api.SelfSubjectAccessReview
			errs[i] = c.post(ctx, authz+"/selfsubjectaccessreviews", review, &answer)
			denied[i] = !answer.Status.Allowed
		})
	}
	wg.Wait()
	var out []Right
	for i, r := range rights {
		switch {
		case errs[i] != nil:
			return nil, c.fail(errs[i], "ask whether the user may %s", r)
		case denied[i]:
			out = append(out, r)
		}
	}
	return out, nil
}

// User returns the name by which the cluster knows the user.
func (c *Cluster) User(ctx context.Context) (string, error) {
	var answer api.SelfSubjectReview
	if err := c.post(ctx, authn+"/selfsubjectreviews", api.SelfSubjectReview{}, &answer); err != nil {
		return "", c.fail(err, "ask who the user is")
	}
	if answer.Status.UserInfo.Username == "" {
		return "", fmt.Errorf("cluster %s does not say who the user is", c.Context)
	}
	return answer.Status.UserInfo.Username, nil
}
