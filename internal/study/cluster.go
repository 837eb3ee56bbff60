package study

import (
	"cmp"
	"slices"
	"strings"
)

// KubeTarget is the kind of target that is a Kubernetes cluster: that of the current context, or
// with a colon and a name that of another.
const KubeTarget = "kube"

// Cluster says what a run uses of a Kubernetes cluster, and what it creates there.
type Cluster struct {
	Nodes    Names  // the client's and the server's; by default the first two on which pods can be scheduled
	Selector string // labels of the nodes among which two are chosen
	Image    string // of the pods; by default that of this program
	Inject   bool   // copy this program into pods of the image
	Decoys   int    // services without traffic that exist during the run
	// Namespace is an existing one in which all is created; empty for new ones.
	Namespace string
	// NoHostNetwork leaves out pods on the host network, and the modes that need them.
	NoHostNetwork bool
}

// mostDecoys bounds the services that a run creates on somebody's cluster.
const mostDecoys = 10000

// Fields declares the keys of a Cluster and their rules.
func (c *Cluster) Fields() []Field {
	return []Field{
		key("nodes", nodesOf(&c.Nodes), "names of the client's node and the server's; one for modes within a node; by default the first two on which pods can be scheduled"),
		key("node_selector", text(&c.Selector, `^[^\x00-\x1f\x7f-\x9f]*$`, "labels, such as pool=bench", 1000), "labels of the nodes among which two are chosen"),
		key("image", text(&c.Image, `^[^\x00-\x20\x7f-\x9f]*$`, "the name of an image", 500), "image of the pods; by default that of this program"),
		key("inject", truth(&c.Inject), "copy this program into the pods, whose image needs no more than sh"),
		key("namespace", text(&c.Namespace, `^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$`, "the name of a namespace", 63), "existing namespace in which all is created and removed again; by default tare creates namespaces"),
		key("no_hostnet", truth(&c.NoHostNetwork), "no pod on the host network, and no privileged namespace; the modes that need it are left out"),
		key("decoy_services", count(&c.Decoys, 0, mostDecoys), "number of services without traffic that exist during the run"),
	}
}

func nodesOf(at *Names) Sequence {
	rule := Rule{Pattern: `^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`, Words: "the name of a node", Runes: 253}
	return sequence[Names, string]{held[Names]{at}, rule, textForm(), "a list of names of nodes, such as [node-a, node-b]"}
}

// Or returns c with what it leaves open taken from def. Both may be nil.
func (c *Cluster) Or(def *Cluster) *Cluster {
	if c == nil || def == nil {
		return cmp.Or(c, def)
	}
	out := *def
	from, to := c.Fields(), out.Fields()
	for i, f := range from {
		if !f.Value.IsZero() {
			to[i].Value.Set(f.Value)
		}
	}
	return &out
}

// IsKube reports whether the target is a Kubernetes cluster.
func (e Target) IsKube() bool {
	kind, _, _ := strings.Cut(e.Name, ":")
	return kind == KubeTarget
}

// cluster checks what a study says of a cluster.
func (v *validator) cluster(s Study) {
	if s.Cluster == nil {
		return
	}
	v.all(s.Cluster.Fields(), "cluster.")
	for i := range s.Cluster.Nodes {
		if text := nodesOf(&s.Cluster.Nodes).At(i).Check("node"); text != "" {
			v.add("cluster.nodes", "%s", text)
		}
	}
	nodes := slices.Sorted(slices.Values(s.Cluster.Nodes))
	switch {
	case !s.Target().IsKube():
		v.add("cluster", "cluster describes a Kubernetes cluster, but this study runs on %s; set engine: kube (--kube), or remove cluster (--nodes, --node-selector, --image, --inject, --namespace, --no-hostnet, --decoy-services)", s.Target())
	case len(nodes) > 2:
		v.add("cluster.nodes", "nodes has %d names; want two, the client's first, or one", len(nodes))
	case len(slices.Compact(nodes)) < len(s.Cluster.Nodes):
		v.add("cluster.nodes", "nodes names %s twice; want two nodes, or one for modes within it", nodes[0])
	case s.Cluster.Inject && s.Cluster.Image == "":
		v.add("cluster.inject", "inject copies this program into pods of another image; name it with image (--image)")
	}
}
