package k8s

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/kube"
	"tare/internal/runid"
)

// optionRights returns the rights that options of modes need.
func optionRights(existing bool) map[string][]kube.Right {
	return map[string][]kube.Right{
		OptionPolicy:       nil,
		OptionEndpoint:     nil,
		OptionAddress:      nil,
		OptionClass:        nil,
		OptionPolicies:     kube.PolicyRights(existing),
		OptionServices:     slices.Concat(kube.DecoyRights(existing), kube.RemoveDecoyRights()),
		OptionRuntimeClass: kube.RuntimeClassRights(),
		OptionSidecars:     nil,
	}
}

// runRights returns the rights that a run needs for any mode.
func (o Options) runRights() []kube.Right {
	out := kube.RunRights(o.Namespace != "", len(o.Nodes) > 0)
	if o.Decoys > 0 {
		out = append(out, kube.DecoyRights(o.Namespace != "")...)
	}
	return out
}

// Rights returns the rights that a run of modes needs, some of which have options of these names. A
// mode that is left out without the host network needs none.
func (o Options) Rights(modes []string, options ...string) []kube.Right {
	existing := o.Namespace != ""
	all, with := [][]kube.Right{o.runRights()}, optionRights(existing)
	for _, mode := range modes {
		if r := rowOf(mode); r != nil && (!o.NoHostNetwork || !r.nodes) {
			all = append(all, rightsOf(mode, existing))
		}
	}
	for _, name := range options {
		all = append(all, with[name])
	}
	return kube.UnionOf(all...)
}

// Checked is what is known of the modes before anything is created.
type Checked struct {
	Rights []kube.Right
	Denied []kube.Right
	// Run is why no mode can be measured, nil if nothing is known against it.
	Run error
	// Modes maps modes that alone would be left out to the reason.
	Modes map[string]error
}

// Check asks the cluster whether a run of modes would be allowed, and creates nothing. It is called
// after Open, whose error is the one of Run.
func (d *Driver) Check(ctx context.Context, modes []string, opened error) (Checked, error) {
	o := d.options
	out := Checked{Rights: o.Rights(modes), Run: opened, Modes: map[string]error{}}
	c, nodes := d.Cluster()
	if c == nil {
		return out, opened
	}
	var err error
	if out.Denied, err = c.Denied(ctx, o.Namespace, out.Rights); err != nil {
		return out, err
	}
	if r, lacks := kube.Lacks(o.runRights(), out.Denied); lacks && out.Run == nil {
		out.Run = d.denied(r)
	}
	if out.Run == nil {
		out.Run = d.tryCreate(ctx, c, nodes)
	}
	for _, mode := range modes {
		r, lacks := kube.Lacks(rightsOf(mode, o.Namespace != ""), out.Denied)
		built, unsupported := d.row(driver.Order{Mode: mode, Pairs: 1})
		switch {
		case unsupported != nil:
			out.Modes[mode] = unsupported
		case !built.near && len(nodes) == 1:
			out.Modes[mode] = errors.New("it requires two nodes on which pods can be scheduled")
		case lacks:
			out.Modes[mode] = d.denied(r)
		default:
			if err := d.checkName(ctx, c, mode); err != nil {
				out.Modes[mode] = err
			}
		}
	}
	return out, nil
}

// checkName returns why the class, gateway or network that a mode names cannot be measured.
func (d *Driver) checkName(ctx context.Context, c *kube.Cluster, mode string) error {
	stem, name, named := strings.Cut(mode, ":")
	switch {
	case !named:
		return nil
	case name == "NAME":
		return fmt.Errorf("it stands for one mode for each name on the cluster; name one of them, such as %s:example", stem)
	case stem+":" == ingressMode:
		_, err := findIngress(ctx, c, mode)
		return err
	case stem+":" == gatewayMode:
		_, err := findGateway(ctx, c, mode)
		return err
	}
	_, err := findNetwork(ctx, c, mode)
	return err
}

// denied returns the error for a missing right, with what to do.
func (d *Driver) denied(r kube.Right) error {
	where := ""
	switch {
	case r.Cluster:
	case d.options.Namespace != "":
		where = " in namespace " + d.options.Namespace
	default:
		where = " in all namespaces, where a run creates its own"
	}
	fix := "ask for the role that tare doctor --kube --roles prints"
	switch {
	case d.options.Namespace == "" && r.Resource != "nodes":
		fix += ", or use an existing namespace: --namespace NAME"
	case r.Resource == "nodes":
		fix += ", or name two nodes with --nodes"
	}
	return fmt.Errorf("the user may not %s%s; %s", r, where, fix)
}

// tryCreate lets the cluster say whether it would accept what a run creates.
func (d *Driver) tryCreate(ctx context.Context, c *kube.Cluster, nodes []kube.Node) error {
	run, err := runid.New()
	if err != nil {
		return err
	}
	defer run.Release()
	if d.options.Namespace == "" {
		return d.createNamespaces(ctx, c.DryRun(), run.ID)
	}
	pod := kube.PodSpec{Run: run.ID, Part: "check", Name: kube.Name(run.ID, "check"), Namespace: d.options.Namespace, Node: nodes[0].Name}
	if err := c.DryRun().Create(ctx, pod); err != nil {
		return err
	}
	if d.options.NoHostNetwork {
		return nil
	}
	pod.HostNetwork = true
	return withoutHostNetwork(c.DryRun().Create(ctx, pod))
}

// withoutHostNetwork adds to the error of a pod on the host network that it can be left out. That of
// Pod Security says so itself.
func withoutHostNetwork(err error) error {
	if errors.Is(err, kube.ErrAdmission) {
		return fmt.Errorf("%w; or leave out the host network with --no-hostnet", err)
	}
	return err
}
