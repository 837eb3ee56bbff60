package kube

import (
	"context"
	"fmt"
	"sync"

	authzv1 "k8s.io/api/authorization/v1"
)

// Right is something that a run does on a cluster.
type Right struct {
	Verb, Group, Resource, Subresource string
	Namespace                          string // empty for the whole cluster
	For                                string // what is left out without it
}

func (r Right) String() string {
	what := r.Resource
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	if r.Group != "" {
		what += "." + r.Group
	}
	if r.Namespace == "" {
		return r.Verb + " " + what
	}
	return fmt.Sprintf("%s %s in namespace %s", r.Verb, what, r.Namespace)
}

// Rights lists what a run needs. namespace is an existing one that it uses; empty if it creates
// its own.
func Rights(namespace string) []Right {
	all := []Right{
		{Verb: "list", Resource: "nodes", For: "any run: two nodes are chosen"},
		{Verb: "create", Resource: "namespaces", For: "a run in namespaces of its own"},
		{Verb: "delete", Resource: "namespaces", For: "a run in namespaces of its own"},
		{Verb: "get", Resource: "serviceaccounts", Namespace: namespace, For: "any run"},
		{Verb: "create", Resource: "pods", Namespace: namespace, For: "any run"},
		{Verb: "get", Resource: "pods", Namespace: namespace, For: "any run"},
		{Verb: "delete", Resource: "pods", Namespace: namespace, For: "any run"},
		{Verb: "deletecollection", Resource: "pods", Namespace: namespace, For: "any run"},
		{Verb: "create", Resource: "pods", Subresource: "exec", Namespace: namespace, For: "any run: agents are started and read by exec"},
		{Verb: "get", Resource: "pods", Subresource: "exec", Namespace: namespace, For: "any run: exec over a WebSocket"},
		{Verb: "list", Resource: "events", Namespace: namespace, For: "the reason why a pod does not start"},
		{Verb: "create", Resource: "services", Namespace: namespace, For: "the modes k8s/service, k8s/nodeport and k8s/hairpin"},
		{Verb: "update", Resource: "services", Namespace: namespace, For: "the mode k8s/nodeport"},
		{Verb: "delete", Resource: "services", Namespace: namespace, For: "the modes k8s/service, k8s/nodeport and k8s/hairpin"},
		{Verb: "list", Group: "discovery.k8s.io", Resource: "endpointslices", Namespace: namespace, For: "the modes k8s/service, k8s/nodeport and k8s/hairpin"},
		{Verb: "create", Group: "networking.k8s.io", Resource: "networkpolicies", Namespace: namespace, For: "the option policies"},
	}
	return all
}

// Denied returns those rights that the user does not have.
func (c *Cluster) Denied(ctx context.Context, rights []Right) ([]Right, error) {
	denied, errs := make([]bool, len(rights)), make([]error, len(rights))
	var wg sync.WaitGroup
	for i, r := range rights {
		wg.Go(func() {
			review := authzv1.SelfSubjectAccessReview{Spec: authzv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authzv1.ResourceAttributes{
				Namespace: r.Namespace, Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource,
			}}}
			var answer authzv1.SelfSubjectAccessReview
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
