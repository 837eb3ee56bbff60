package why

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/study"
)

// Modes of a cluster, where nothing can be left out of the user's nodes: each part is the
// difference of two modes that are measured as they are.
const (
	hostLocal = "k8s/hostnet-local"
	podLocal  = "k8s/pod-local"
	nodeToPod = "k8s/node-to-pod"
	podToNode = "k8s/pod-to-node"
	podMode   = "k8s/pod"
)

// neighbour is a mode that has one part more than the one before it.
type neighbour struct{ mode, part, title, avoid string }

// sidecars is the option of modes with pods that has the value off where pods are to have no injected containers.
const sidecars = "sidecars"

// ownNetwork is what gets the cost of a pod's network back.
const ownNetwork = "use the network of the node (hostNetwork: true)"

// neighbours are the modes from the baseline's neighbour up to a mode of a cluster, nil if there
// is none between them.
func neighbours(mode string) []neighbour {
	server := neighbour{nodeToPod, result.PartServerPod, "the server is in a pod: its device, the bridge or routes of its node, and the tunnel between the nodes if there is one", ownNetwork}
	client := neighbour{podMode, result.PartClientPod, "the client is in a pod, too", ownNetwork}
	local := neighbour{podLocal, result.PartPods, "client and server are in pods: their devices, and the bridge or routes of the node", ownNetwork}
	service := func(id string) neighbour {
		return neighbour{id, result.PartService, "the address of a service, which the client's node translates to that of its pod", "dial the address of the pod (a headless service)"}
	}
	switch mode {
	case nodeToPod:
		return []neighbour{server}
	case podToNode:
		return []neighbour{{podToNode, result.PartClientPod, "the client is in a pod: its device, and the bridge or routes of its node", ownNetwork}}
	case podMode:
		return []neighbour{server, client}
	case "k8s/service":
		return []neighbour{server, client, service(mode)}
	case "k8s/nodeport", "k8s/loadbalancer":
		return []neighbour{server, {mode, result.PartService, "the address or port of a service outside of the pod network, which a node translates to its pod", "dial the address of the pod from within the cluster"}}
	case podLocal:
		return []neighbour{local}
	case "k8s/service-local":
		return []neighbour{local, service(mode)}
	case "k8s/hairpin":
		return []neighbour{local, service("k8s/service-local"), {mode, "itself", "the service leads back to the pod that dials it", "dial localhost in the pod"}}
	}
	if strings.HasPrefix(mode, "k8s/ingress:") || strings.HasPrefix(mode, "k8s/gateway:") {
		return []neighbour{{mode, "proxy", "a proxy between the pods reads each request and sends it to the server over a connection of its own", "dial the service, or the pod, from within the cluster"}}
	}
	return nil
}

// cluster adds the parts of a mode on a cluster, and the modes that tell what is between the nodes
// from what is within one. It reports whether the mode has neighbours.
func (b *builder) cluster(m driver.Mode) bool {
	steps := neighbours(m.ID)
	has := func(mode string) bool {
		return slices.ContainsFunc(steps, func(n neighbour) bool { return n.mode == mode })
	}
	b.costByParts.Causes = len(steps) > 0
	for _, n := range steps {
		b.add(&b.costByParts.Modes, b.plain(n.mode), n.mode, nil, study.PartMode{Part: n.part, Title: n.title, Avoid: n.avoid})
	}
	if m.ID == podMode && len(b.injected) == 0 { // with the server's pod its sidecar would be left out, too
		b.add(&b.costByParts.Removals, podToNode, podToNode, nil, study.PartMode{Part: result.PartServerPod, Title: steps[0].title, Avoid: steps[0].avoid})
	}
	if has(podMode) {
		across := b.costByParts.Modes[1+slices.IndexFunc(steps, func(n neighbour) bool { return n.mode == podMode })].Mode
		within := b.variant(b.plain(podLocal), podLocal, nil)
		b.study = append(b.study, study.Mode{Mode: hostLocal}, within)
		b.costByParts.Within = &study.Within{Baseline: hostLocal, Mode: within.Name(), Across: across}
	}
	return len(steps) > 0
}

// plain is the name of a mode of a cluster in the study: where containers are injected, that of the mode without them.
func (b *builder) plain(mode string) string {
	if len(b.injected) == 0 {
		return mode
	}
	return strings.NewReplacer(":", "-", "/", "-").Replace(strings.TrimPrefix(mode, "k8s/")) + "-without-sidecars"
}

// throughSidecars reports whether a mode of a cluster is measured where the injected containers intercept its connections; driver/k8s refuses
// the others.
func throughSidecars(mode string) bool {
	return slices.Contains([]string{podMode, podLocal, "k8s/service", "k8s/service-local", podToNode, nodeToPod}, mode)
}

// sidecars adds the step from a mode without injected containers to the mode as the cluster makes it.
func (b *builder) sidecars(m driver.Mode) {
	names := strings.Join(b.injected, ", ")
	b.injected = nil
	b.add(&b.costByParts.Modes, m.ID, m.ID, nil, study.PartMode{Part: result.PartSidecars, Title: "the injected containers: " + names,
		Avoid: "exclude the pods from injection, by the label or annotation of the mesh, where they need nothing of it"})
}

// limited makes a mode with a CPU limit on its pods the explained one, one step above the mode.
func (b *builder) limited(m driver.Mode, cpus float64) {
	var limits study.Limits
	if m.Limits.Client {
		limits.Client.CPUs = cpus
	}
	if m.Limits.Server {
		limits.Server.CPUs = cpus
	}
	name := b.unused(path.Base(m.ID) + "-limited")
	b.study = append(b.study, study.Mode{ID: name, Mode: m.ID, Limits: limits, Title: fmt.Sprintf("%s, with a limit of %g CPUs", m.Title, cpus)})
	b.costByParts.Modes = append(b.costByParts.Modes, study.PartMode{Mode: name, Part: result.PartCPULimit, Title: fmt.Sprintf("a limit of %g CPUs on each pod", cpus), Avoid: "raise the limit, or set none"})
	b.costByParts.Of = name
}
