package hosts

import (
	"context"
	"fmt"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/k8s"
	"tare/internal/facts"
	"tare/internal/kube"
	"tare/internal/result"
	"tare/internal/study"
)

// KubeCheck is what is known of runs on a cluster before anything is created there.
type KubeCheck struct {
	Groups []facts.Group // the cluster, the nodes that would be chosen, and those that are skipped
	Rights []KubeRight
	Modes  []KubeMode
	// Roles are the rights as YAML that kubectl apply reads.
	Roles []byte
	// Run is why no mode can be measured, nil if nothing is known against it.
	Run error
}

// KubeRight is a right that a run needs.
type KubeRight struct {
	Right    string `json:"right"` // verb and resource
	For      string `json:"for"`
	Optional bool   `json:"optional"`
	Allowed  bool   `json:"allowed"`
}

// KubeMode is whether a mode would be measured.
type KubeMode struct {
	Mode   string
	Absent error // why it would not, nil if nothing is known against it
}

// CheckKube asks a cluster whether a run of modes would be allowed. It fails if the cluster cannot
// be asked.
func CheckKube(ctx context.Context, t study.Target, modes []string) (KubeCheck, error) {
	options := kubeOptions(t)
	on := k8s.New(options)
	opened := on.Open(ctx)
	c, chosen := on.Cluster()
	if c == nil {
		return KubeCheck{Run: opened}, opened
	}
	var out KubeCheck
	user, err := c.User(ctx)
	if err != nil {
		return out, err
	}
	found, err := on.Check(ctx, modes, opened)
	if err != nil {
		return out, err
	}
	out.Run = found.Run
	out.Groups = append(out.Groups, facts.Group{Title: "cluster", Facts: []result.Fact{
		{Name: "context", Value: c.Context}, {Name: "server", Value: c.Server}, {Name: "kubernetes", Value: c.Version}, {Name: "user", Value: user}, {Name: "image", Value: c.Image},
	}})
	for i, n := range chosen {
		out.Groups = append(out.Groups, facts.Group{Title: "node " + on.Hosts()[i].Name, Facts: slices.Concat(n.Facts, c.NodeFacts(ctx, n.Name))})
	}
	if skipped := skippedNodes(ctx, c, options.Selector, chosen); len(skipped) > 0 {
		out.Groups = append(out.Groups, facts.Group{Title: "other nodes", Facts: skipped})
	}
	for _, r := range found.Rights {
		out.Rights = append(out.Rights, KubeRight{r.String(), r.For, r.Optional, !slices.Contains(found.Denied, r)})
	}
	for _, m := range modes {
		reason := found.Run
		if reason == nil {
			reason = found.Modes[m]
		}
		if u, ok := driver.AsUnsupported(reason); ok {
			reason = fmt.Errorf("%s", u.Reason)
		}
		out.Modes = append(out.Modes, KubeMode{m, reason})
	}
	out.Roles, err = kube.Roles(options.Rights(modes), options.Namespace, kube.AccountOf(user))
	return out, err
}

// KubeInjection asks a cluster which containers it would add to the pods of a run. It knows of none on a cluster that cannot be used: a
// run says why.
func KubeInjection(ctx context.Context, t study.Target) (k8s.Injection, error) {
	on := k8s.New(kubeOptions(t))
	if on.Open(ctx) != nil {
		return k8s.Injection{}, nil //nolint:nilerr // as above
	}
	return on.Injection(ctx)
}

// skippedNodes tells of the nodes that were not chosen, as far as the user may list them.
func skippedNodes(ctx context.Context, c *kube.Cluster, selector string, chosen []kube.Node) (out []result.Fact) {
	all, err := c.Nodes(ctx, selector)
	if err != nil {
		return nil // the rights say so
	}
	for _, n := range all {
		if slices.ContainsFunc(chosen, func(c kube.Node) bool { return c.Name == n.Name }) {
			continue
		}
		why := n.Blocked
		if why == "" {
			why = "not chosen; name it with --nodes"
		}
		out = append(out, result.Fact{Name: n.Name, Value: why})
	}
	return out
}
