package kube

import (
	"cmp"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Class is a class of the cluster that objects name: a RuntimeClass or an IngressClass.
type Class struct {
	Name       string
	Controller string // of an IngressClass
}

// RuntimeClasses returns the runtime classes of the cluster, sorted by name.
func (c *Cluster) RuntimeClasses(ctx context.Context) ([]Class, error) {
	all, err := c.classes(ctx, nodeV+"/runtimeclasses")
	return all, c.fail(err, "list the runtime classes")
}

// IngressClasses returns the ingress classes of the cluster, sorted by name.
func (c *Cluster) IngressClasses(ctx context.Context) ([]Class, error) {
	all, err := c.classes(ctx, networking+"/ingressclasses")
	return all, c.fail(err, "list the ingress classes")
}

func (c *Cluster) classes(ctx context.Context, path string) ([]Class, error) {
	var list struct {
		Items []struct {
			metav1.ObjectMeta `json:"metadata"`
			Spec              struct {
				Controller string `json:"controller"`
			} `json:"spec"`
		}
	}
	if err := c.get(ctx, path, nil, &list); err != nil {
		return nil, err
	}
	var all []Class
	for _, i := range list.Items {
		all = append(all, Class{i.Name, i.Spec.Controller})
	}
	slices.SortFunc(all, func(a, b Class) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}
