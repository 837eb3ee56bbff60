package target

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
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

// longestContext is longer than any name of a context that clouds make.
const longestContext = 400

func newKube(t study.Target, _ Options) driver.Target {
	_, at, _ := strings.Cut(t.Name, ":")
	var o study.Cluster
	if t.Cluster != nil {
		o = *t.Cluster
	}
	on := k8s.New(k8s.Options{
		Options: kube.Options{Context: at, Image: o.Image, Inject: o.Inject},
		Nodes:   o.Nodes, Selector: o.Selector, Decoys: o.Decoys,
	})
	absent := map[string]string{}
	for _, m := range Modes() {
		absent[m.ID] = fmt.Sprintf("this mode is built in a lab, and the study names a cluster (%s); measure the modes k8s/..., or leave out engine and --kube", t)
	}
	return driver.Target{
		Hosts: on.Hosts(), Drivers: driver.Registry{on}, Unavailable: absent, Open: on.Open, Close: on.Close,
		DescribeChanges: func(study.Study) []string { return kubeChanges(o) },
		Begin:           func(driver.Run) (driver.HostInfo, error) { return kubeBegin(on) },
	}
}

// kubeChanges says what a run creates on a cluster.
func kubeChanges(o study.Cluster) []string {
	lines := []string{
		"cluster: existing; tare creates on it, and removes again, two namespaces with pods and services, all with the label " + kube.LabelRun + ": one in which pods meet the Pod Security level restricted, and one for a pod on the host network of each node",
	}
	if o.Decoys > 0 {
		lines = append(lines, fmt.Sprintf("services: %d without traffic, so that every node has rules for them", o.Decoys))
	}
	return append(lines, "rights: to create namespaces, pods, services and exec in them; nothing else of the cluster is changed")
}

func kubeBegin(on *k8s.Driver) (driver.HostInfo, error) {
	if err := on.Open(context.Background()); err != nil {
		return driver.HostInfo{}, err
	}
	c, nodes := on.Cluster()
	g := driver.HostInfo{Hosts: on.Hosts()}
	for i, n := range nodes {
		cluster := []result.Fact{{Name: "cluster", Value: c.Context}, {Name: "kubernetes", Value: c.Version}}
		g.Report = append(g.Report, result.Host{Name: g.Hosts[i].Name, Facts: slices.Concat(cluster, n.Facts, []result.Fact{{Name: "machine", Value: "not tare: a node of the cluster"}})})
	}
	if len(g.Report) == 2 {
		g.Warnings = analysis.CompareHosts(g.Report[0], g.Report[1])
	}
	role := result.Fact{Name: "role", Value: "the machine that controlled the run; no endpoint is on it"}
	g.Report = append(g.Report, result.Host{Name: "tare", Facts: append([]result.Fact{role}, facts.Collect("/").Facts...)})
	return g, nil
}
