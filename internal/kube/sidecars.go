package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tare/internal/kube/api"
)

// withoutSidecars are the labels and the annotations by which a pod asks the injectors of service meshes to add nothing to it, as
// each documents them: Istio (label, and annotation of older versions), its ambient mode, Linkerd, Kuma and Kong Mesh, Consul, AWS App
// Mesh, Open Service Mesh.
func withoutSidecars() (labels, annotations map[string]string) {
	return map[string]string{
			"sidecar.istio.io/inject": "false", "istio.io/dataplane-mode": "none", "kuma.io/sidecar-injection": "disabled",
		}, map[string]string{
			"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled", "consul.hashicorp.com/connect-inject": "false",
			"appmesh.k8s.aws/sidecarInjectorWebhook": "disabled", "openservicemesh.io/sidecar-injection": "disabled",
		}
}

// metadata returns the labels and annotations of the pod.
func (p *Pod) metadata() (l, annotations map[string]string) {
	l, annotations = labels(p.Run, p.Part), p.Network.annotations()
	maps.Copy(l, p.Labels)
	if !p.NoSidecars {
		return l, annotations
	}
	refusing, refusals := withoutSidecars()
	maps.Copy(l, refusing)
	maps.Copy(refusals, annotations)
	return l, refusals
}

// Injected lists the containers of a pod that were added to it, by name and image: by an admission
// webhook or policy, such as the sidecar of a service mesh.
func (p *Pod) Injected(ctx context.Context) ([]string, error) {
	var now api.Pod
	if err := p.cluster.get(ctx, in(core, p.Namespace, "pods", p.Name), nil, &now); err != nil {
		return nil, p.cluster.fail(err, "look at pod %s", p.Name)
	}
	return addedTo(now), nil
}

// WouldInject lists the containers that the cluster would add to a pod. It creates nothing: the API server answers with the pod as
// admission has changed it.
func (c *Cluster) WouldInject(ctx context.Context, spec PodSpec) ([]string, error) {
	var admitted api.Pod
	if err := c.DryRun().post(ctx, in(core, spec.Namespace, "pods"), c.pod(spec).manifest(c.Image), &admitted); err != nil {
		return nil, c.fail(err, "let the cluster check pod %s in namespace %s", spec.Name, spec.Namespace)
	}
	return addedTo(admitted), nil
}

// addedTo lists the containers of a pod of a run besides its own, by name and image.
func addedTo(p api.Pod) (out []string) {
	for _, k := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers, p.Spec.EphemeralContainers) {
		if k.Name != container {
			out = append(out, fmt.Sprintf("%s (%s)", text(k.Name), text(k.Image)))
		}
	}
	return out
}
