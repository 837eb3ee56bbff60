// Package k8s builds network modes between pods and nodes of an existing Kubernetes cluster with
// the access that its user has. It changes nothing that it has not created, and removes all of
// that. Counters are read by agents: one in a pod on the host network of each node, unless the
// host network is left out, and one in each endpoint's pod.
package k8s

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/kube"
)

// Options say which cluster and which of its nodes are meant.
type Options struct {
	kube.Options
	Nodes    []string // two of them, or one for the modes within it; by default the first two that are ready
	Selector string   // labels of the nodes among which two are chosen
	// Namespace is an existing namespace in which all is created; empty for namespaces of the
	// run's own.
	Namespace string
	// NoHostNetwork leaves out pods on the host network, and the modes that need them.
	NoHostNetwork bool
	// Decoys is a number of services without traffic that exist during the run. The rules for
	// them affect every mode of the run that passes a service.
	Decoys int
}

// Driver builds modes on two nodes of a cluster, or on one.
type Driver struct {
	options  Options
	mu       sync.Mutex // guards cluster, nodes, made and policies
	cluster  *kube.Cluster
	nodes    []kube.Node
	made     map[string]bool // runs whose namespaces exist
	policies string          // why the effect of a network policy cannot be timed, empty if nothing is known against it
	sessions *remote.Sessions
}

// New creates a driver.
func New(o Options) *Driver {
	d := &Driver{options: o, made: map[string]bool{}}
	d.sessions = remote.NewSessions(2, d.openNode, d.removeRun)
	return d
}

// Open connects to the cluster and chooses the nodes, so that an unusable cluster is known
// before anything is created. With a cluster that can be asked, but no nodes, Cluster returns that
// cluster.
func (d *Driver) Open(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.nodes) > 0 {
		return nil
	}
	c, err := kube.Connect(ctx, d.options.Options)
	if err != nil {
		return err
	}
	d.cluster = c
	d.nodes, err = d.choose(ctx, c)
	return err
}

// choose returns the nodes of the run. A user who may not list nodes can name them: they are then
// known by name only.
func (d *Driver) choose(ctx context.Context, c *kube.Cluster) ([]kube.Node, error) {
	all, err := c.Nodes(ctx, d.options.Selector)
	if errors.Is(err, kube.ErrForbidden) {
		if len(d.options.Nodes) == 0 {
			return nil, fmt.Errorf("%w; or name two nodes with --nodes", err)
		}
		all, err = kube.NamedNodes(d.options.Nodes), nil
	}
	if err != nil {
		return nil, err
	}
	nodes, err := kube.Choose(all, d.options.Nodes)
	if err != nil {
		return nil, fmt.Errorf("%w (cluster %s)", err, c.Context)
	}
	return nodes, nil
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

// The namespaces of a run, which are one if it uses an existing one: one in which pods must meet
// the strictest level of Pod Security, and one for pods on the host network.
func (d *Driver) podNamespace(run string) string {
	return cmp.Or(d.options.Namespace, kube.Name(run))
}

func (d *Driver) nodeNamespace(run string) string {
	return cmp.Or(d.options.Namespace, kube.Name(run, "node"))
}

// openNode starts the pod and in it the agent that reads a node. Without the host network nothing
// reads it.
func (d *Driver) openNode(ctx context.Context, run string, i int) (*remote.Host, error) {
	c, nodes := d.Cluster()
	if err := d.prepare(ctx, run); err != nil {
		return nil, err
	}
	if d.options.NoHostNetwork {
		return &remote.Host{Place: pathspec.Place{At: hostName(i), Host: hostName(i)}, Address: nodes[i].Address}, nil
	}
	spec := kube.PodSpec{Run: run, Part: "witness", Name: kube.Name(run, hostName(i), "witness"), Namespace: d.nodeNamespace(run), Node: nodes[i].Name, HostNetwork: true}
	p, err := c.Run(ctx, spec)
	if err != nil {
		return nil, withoutHostNetwork(err)
	}
	address := nodes[i].Address
	if !address.IsValid() {
		address, _ = p.Address(false)
	}
	h, err := remote.Open(ctx, p, run, hostName(i), address)
	if err != nil {
		return nil, errors.Join(err, p.Remove(context.WithoutCancel(ctx)))
	}
	return h, nil
}

// prepare creates what all modes of a run share: its namespaces, unless it uses an existing one,
// and the decoys.
func (d *Driver) prepare(ctx context.Context, run string) error {
	d.mu.Lock()
	done := d.made[run]
	d.made[run] = true
	c := d.cluster
	d.mu.Unlock()
	if done {
		return nil
	}
	if d.options.Namespace == "" {
		if err := d.createNamespaces(ctx, c, run); err != nil {
			return err
		}
	}
	return c.CreateDecoys(ctx, run, d.podNamespace(run), kube.Name(run, "decoy"), d.options.Decoys)
}

// createNamespaces creates the namespaces of a run and waits until pods can be created in them.
func (d *Driver) createNamespaces(ctx context.Context, c *kube.Cluster, run string) error {
	levels := []struct {
		name  string
		level kube.PodSecurity
	}{{d.podNamespace(run), kube.Restricted}, {d.nodeNamespace(run), kube.Privileged}}
	if d.options.NoHostNetwork {
		levels = levels[:1]
	}
	for _, n := range levels {
		err := c.CreateNamespace(ctx, run, n.name, n.level)
		switch {
		case errors.Is(err, kube.ErrForbidden):
			return fmt.Errorf("%w, or use an existing namespace: --namespace NAME", err)
		case errors.Is(err, kube.ErrAdmission) && n.level == kube.Privileged:
			return fmt.Errorf("%w; or leave out the host network, which needs a namespace at the Pod Security level privileged: --no-hostnet", err)
		case err != nil:
			return err
		}
	}
	if c.IsDryRun() {
		return nil
	}
	var errs []error
	for _, n := range levels {
		errs = append(errs, c.AwaitAccount(ctx, n.name))
	}
	return errors.Join(errs...)
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
	var err error
	gc := "tare gc --kube"
	switch {
	case d.options.Namespace != "":
		gc += " --namespace " + d.options.Namespace
		err = c.RemoveRun(ctx, d.options.Namespace, run)
	case d.options.NoHostNetwork:
		err = c.RemoveNamespaces(ctx, d.podNamespace(run))
	default:
		err = c.RemoveNamespaces(ctx, d.podNamespace(run), d.nodeNamespace(run))
	}
	if err != nil {
		return fmt.Errorf("%w; %s removes what is left", err, gc)
	}
	return nil
}

// nodeOf returns the cluster's node of a host.
func (d *Driver) nodeOf(h *remote.Host) kube.Node {
	_, nodes := d.Cluster()
	if h.At == hostName(1) {
		return nodes[1]
	}
	return nodes[0]
}
