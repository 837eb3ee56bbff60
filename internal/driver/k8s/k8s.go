// Package k8s builds network modes between pods and nodes of an existing Kubernetes cluster with
// the access that its user has. It changes nothing that it has not created, and removes all of
// that. Counters are read by agents: one in a pod on the host network of each node, and one in
// each endpoint's pod.
package k8s

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/remote"
	"tare/internal/kube"
	"tare/internal/study"
)

// Options say which cluster and which of its nodes are meant.
type Options struct {
	kube.Options
	Nodes    []string // two of them, or one for the modes within it; by default the first two that are ready
	Selector string   // labels of the nodes among which two are chosen
	// Decoys is a number of services without traffic that exist during the run. The rules for
	// them affect every mode of the run that passes a service.
	Decoys int
}

// Driver builds modes on two nodes of a cluster, or on one.
type Driver struct {
	options  Options
	mu       sync.Mutex // guards cluster, nodes and made
	cluster  *kube.Cluster
	nodes    []kube.Node
	made     map[string]bool // runs whose namespaces exist
	sessions *remote.Sessions
}

// New creates a driver.
func New(o Options) *Driver {
	d := &Driver{options: o, made: map[string]bool{}}
	d.sessions = remote.NewSessions(2, d.openNode, d.removeRun)
	return d
}

// The baselines: processes on the host network of two nodes, or of one.
const (
	hostnet      = "k8s/hostnet"
	hostnetLocal = "k8s/hostnet-local"
)

// setupTime is roughly how long setting up and removing a mode takes.
const setupTime = 4 * time.Second

// Modes lists the modes.
func (d *Driver) Modes() []driver.Mode {
	both := study.Ends{Client: true, Server: true}
	all := []driver.Mode{
		{ID: hostnet, Title: "pods on the host network of two nodes"},
		{ID: hostnetLocal, Title: "two processes of a pod on the host network of one node"},
		{ID: "k8s/pod", Title: "pod to a pod on another node", Baseline: hostnet, Limits: both},
		{ID: "k8s/pod-local", Title: "pod to a pod on the same node", Baseline: hostnetLocal, Limits: both},
		{ID: "k8s/pod-to-node", Title: "pod to a process on the host network of another node", Baseline: hostnet, Limits: study.Ends{Client: true}},
		{ID: "k8s/node-to-pod", Title: "process on the host network of a node to a pod on another node", Baseline: hostnet, Limits: study.Ends{Server: true}},
		{ID: "k8s/service", Title: "pod to a service (ClusterIP) whose pod is on another node", Baseline: hostnet, Limits: both},
		{ID: "k8s/service-local", Title: "pod to a service (ClusterIP) whose pod is on the same node", Baseline: hostnetLocal, Limits: both},
		{ID: "k8s/nodeport", Title: "process on a node to a service's port on another node, where its pod is", Baseline: hostnet, Limits: study.Ends{Server: true}},
		{ID: "k8s/loadbalancer", Title: "process on a node to a service's external address, whose pod is on another node", Baseline: hostnet, Limits: study.Ends{Server: true}},
		{ID: "k8s/ingress:NAME", Title: "process on a node to a pod through an ingress controller: not measured, and the reason", Baseline: hostnet},
		{ID: "k8s/network:NAME", Title: "pod to a pod on another node over an additional network of both (Multus)", Baseline: hostnet, Limits: both},
		{ID: "k8s/hairpin", Title: "pod to itself through its own service", Baseline: hostnetLocal, Limits: both},
	}
	for i := range all {
		all[i].SetupTime = setupTime
		all[i].Options = all[i].Limits != (study.Ends{})
	}
	return all
}

// Open connects to the cluster and chooses the nodes, so that an unusable cluster is known
// before anything is created.
func (d *Driver) Open(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cluster != nil {
		return nil
	}
	c, err := kube.Connect(ctx, d.options.Options)
	if err != nil {
		return err
	}
	all, err := c.Nodes(ctx, d.options.Selector)
	if err != nil {
		return err
	}
	if d.nodes, err = kube.Choose(all, d.options.Nodes); err != nil {
		return fmt.Errorf("%w (cluster %s)", err, c.Context)
	}
	d.cluster = c
	return nil
}

// Cluster returns the cluster and the chosen nodes, which are known after Open.
func (d *Driver) Cluster() (*kube.Cluster, []kube.Node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cluster, d.nodes
}

// Hosts returns the nodes: two until Open, which may find only one.
func (d *Driver) Hosts() []driver.Host {
	if _, nodes := d.Cluster(); len(nodes) == 1 {
		return []driver.Host{{Name: hostName(0)}}
	}
	return []driver.Host{{Name: hostName(0)}, {Name: hostName(1)}}
}

// hostName returns the name of a node in results, where the cluster's name for it is a fact.
func hostName(i int) string { return string(rune('a' + i)) }

// Close ends the use of the cluster. All paths must be closed before.
func (d *Driver) Close() error { return nil }

// The namespaces of a run: one in which pods must meet the strictest level of Pod Security, and
// one for pods on the host network.
func podNamespace(run string) string  { return kube.Name(run) }
func nodeNamespace(run string) string { return kube.Name(run, "node") }

// openNode starts the pod and in it the agent that reads a node.
func (d *Driver) openNode(ctx context.Context, run string, i int) (*remote.Host, error) {
	c, nodes := d.Cluster()
	if err := d.prepare(ctx, run); err != nil {
		return nil, err
	}
	spec := kube.PodSpec{Run: run, Part: "witness", Name: kube.Name(run, hostName(i), "witness"), Namespace: nodeNamespace(run), Node: nodes[i].Name, HostNetwork: true}
	p, err := c.Run(ctx, spec)
	if err != nil {
		return nil, err
	}
	h, err := remote.Open(ctx, p, run, hostName(i), nodes[i].Address)
	if err != nil {
		return nil, errors.Join(err, p.Remove(context.WithoutCancel(ctx)))
	}
	return h, nil
}

// prepare creates the namespaces of a run.
func (d *Driver) prepare(ctx context.Context, run string) error {
	d.mu.Lock()
	done := d.made[run]
	d.made[run] = true
	c := d.cluster
	d.mu.Unlock()
	if done {
		return nil
	}
	if err := c.CreateNamespace(ctx, run, podNamespace(run), kube.Restricted); err != nil {
		return err
	}
	if err := c.CreateNamespace(ctx, run, nodeNamespace(run), kube.Privileged); err != nil {
		return err
	}
	if err := c.CreateDecoys(ctx, run, podNamespace(run), "decoy", d.options.Decoys); err != nil {
		return err
	}
	return errors.Join(c.AwaitAccount(ctx, podNamespace(run)), c.AwaitAccount(ctx, nodeNamespace(run)))
}

// removeRun removes everything of a run from the cluster.
func (d *Driver) removeRun(ctx context.Context, run string) error {
	d.mu.Lock()
	made := d.made[run]
	delete(d.made, run)
	c := d.cluster
	d.mu.Unlock()
	if !made {
		return nil
	}
	if err := c.RemoveNamespaces(ctx, podNamespace(run), nodeNamespace(run)); err != nil {
		return fmt.Errorf("%w; tare gc --kube removes what is left", err)
	}
	return nil
}
