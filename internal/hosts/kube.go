package hosts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis/identity"
	"tare/internal/driver"
	"tare/internal/driver/k8s"
	"tare/internal/facts"
	"tare/internal/kube"
	"tare/internal/result"
	"tare/internal/study"
)

// Kube is the name of a target that is the cluster of the kubeconfig's current context. Another
// context follows it after a colon.
const Kube = study.KubeTarget

// kubeKind is two nodes of an existing Kubernetes cluster, or one.
func kubeKind() Kind {
	return Kind{
		Name:    Kube,
		Matches: func(name string) bool { return study.Target{Name: name}.IsKube() },
		WellFormed: func(name string) bool {
			scheme, context, given := strings.Cut(name, ":")
			return scheme == Kube && (!given || context != "" && len(context) <= longestContext && !strings.ContainsFunc(context, func(r rune) bool { return r < ' ' || r == 0x7f }))
		},
		Study: func(study.Target) string { return "k8s" },
		New:   newKube,
	}
}

// onlyKube adds the modes of clusters to those that another target does not have.
func onlyKube(absent map[string]string) map[string]string {
	for _, m := range k8s.New(k8s.Options{}).Modes() {
		absent[m.ID] = "this mode is built on a Kubernetes cluster; name it with --kube, or engine: kube in a study"
	}
	return absent
}

// longestContext is longer than any name of a context that clouds make.
const longestContext = 400

// kubeOptions returns the options of the driver.
func kubeOptions(t study.Target) k8s.Options {
	_, at, _ := strings.Cut(t.Name, ":")
	o := clusterOf(t)
	return k8s.Options{
		Options: kube.Options{Context: at, Image: o.Image, Inject: o.Inject},
		Nodes:   o.Nodes, Selector: o.Selector, Decoys: o.Decoys, Namespace: o.Namespace, NoHostNetwork: o.NoHostNetwork,
	}
}

// clusterOf returns what a target says of its cluster.
func clusterOf(t study.Target) study.Cluster {
	if t.Cluster == nil {
		return study.Cluster{}
	}
	return *t.Cluster
}

func newKube(t study.Target, _ Options) driver.Target {
	o, on := clusterOf(t), k8s.New(kubeOptions(t))
	absent := removed()
	for _, m := range Modes() {
		absent[m.ID] = fmt.Sprintf("this mode is built in a lab, and the study names a cluster (%s); measure the modes k8s/..., or leave out engine and --kube", t)
	}
	return driver.Target{
		Hosts: on.Hosts(), Drivers: driver.Registry{on}, Unavailable: absent, Open: on.Open, Close: on.Close, Shared: true, Restricted: true,
		DescribeChanges: func(s study.Study) []string { return kubeChanges(o, s) },
		Begin:           func(run driver.Run) (driver.HostInfo, error) { return kubeBegin(on, run.ID) },
	}
}

// kubeChanges says what a run creates on a cluster.
func kubeChanges(o study.Cluster, s study.Study) []string {
	label := "all with the label " + kube.LabelRun
	created := "two namespaces with pods and services, " + label + ": one in which pods meet the Pod Security level restricted, and one at the level privileged for a pod on the host network of each node"
	rights := "to create namespaces, and in these pods, services and exec"
	hostnet := "a pod on the host network of each node"
	switch {
	case o.Namespace != "":
		created = fmt.Sprintf("pods and services in the existing namespace %s, %s; they meet the Pod Security level restricted, except for %s", o.Namespace, label, hostnet)
		if o.NoHostNetwork {
			created = fmt.Sprintf("pods and services in the existing namespace %s, %s; they meet the Pod Security level restricted", o.Namespace, label)
		}
		rights = "to create pods, services and exec in namespace " + o.Namespace
	case o.NoHostNetwork:
		created = "a namespace with pods and services, " + label + ", in which pods meet the Pod Security level restricted"
	}
	lines := []string{"cluster: existing; tare creates on it, and removes again, " + created}
	if o.NoHostNetwork {
		lines = append(lines, "host network: not used; no pod is on it and no namespace is privileged, so the devices of nodes are not read")
	}
	if o.Decoys > 0 {
		lines = append(lines, fmt.Sprintf("services: %d without traffic, so that every node has rules for them", o.Decoys))
	}
	if slices.ContainsFunc(s.Modes, func(m study.Mode) bool { return k8s.ThroughController(m.Mode) }) {
		lines = append(lines, "routes: an Ingress or HTTPRoute for each mode through a controller, which leads requests for a host name of the run to its pod")
	}
	return append(lines, "rights: "+rights+"; nothing else of the cluster is changed; tare doctor --kube checks them")
}

// kubeBegin describes the nodes by what the cluster tells, and later by what agents on them read.
func kubeBegin(on *k8s.Driver, run string) (driver.HostInfo, error) {
	if err := on.Open(context.Background()); err != nil {
		return driver.HostInfo{}, err
	}
	c, nodes := on.Cluster()
	g := driver.HostInfo{Hosts: on.Hosts()}
	for i, n := range nodes {
		cluster := []result.Fact{{Name: "cluster", Value: c.Context}, {Name: "kubernetes", Value: c.Version}}
		g.Report = append(g.Report, result.Host{Name: g.Hosts[i].Name, Facts: slices.Concat(cluster, n.Facts, []result.Fact{{Name: "machine", Value: "not tare: a node of the cluster"}})})
	}
	nodeCount := len(g.Report)
	role := result.Fact{Name: "role", Value: "the machine that controlled the run; no endpoint is on it"}
	g.Report = append(g.Report, result.Host{Name: "tare", Facts: append([]result.Fact{role}, facts.Collect("/").Facts...)})
	g.Describe = func(ctx context.Context) ([]result.Host, []result.Warning) {
		found, warnings := on.NodeFacts(ctx, run)
		hosts := slices.Clone(g.Report)
		for i := range hosts[:min(nodeCount, len(found))] {
			known := hosts[i].Facts
			fresh := slices.DeleteFunc(found[i], func(f result.Fact) bool {
				return slices.ContainsFunc(known, func(k result.Fact) bool { return k.Name == f.Name })
			})
			hosts[i].Facts = slices.Concat(known, fresh)
		}
		if nodeCount == 2 {
			warnings = append(warnings, identity.CompareHosts(hosts[0], hosts[1])...)
		}
		return hosts, warnings
	}
	return g, nil
}
