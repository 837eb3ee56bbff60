package kube

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tare/internal/kube/api"
	"tare/internal/result"
)

// Node is a node of the cluster.
type Node struct {
	Name    string
	Address netip.Addr // InternalIP, IPv4 first
	IPv6    netip.Addr // the other InternalIP of a node with both families, else invalid
	Ready   bool
	Blocked string // why no pod of a run is scheduled there, "" if nothing is known
	Arch    string
	Facts   []result.Fact // zone, kernel, size and versions
	PodCIDR []netip.Prefix
}

// zoneLabel is where clouds write a node's zone.
const zoneLabel = "topology.kubernetes.io/zone"

// Nodes lists the nodes of the cluster that match a label selector, sorted by name.
func (c *Cluster) Nodes(ctx context.Context, selector string) ([]Node, error) {
	query := url.Values{"limit": {strconv.Itoa(nodePage)}}
	if selector != "" {
		query.Set("labelSelector", selector)
	}
	var out []Node
	for range maxPages {
		var list api.NodeList
		if err := c.get(ctx, core+"/nodes", query, &list); err != nil {
			return nil, c.fail(err, "list the nodes")
		}
		for _, n := range list.Items {
			out = append(out, nodeOf(n))
		}
		if list.Continue == "" {
			slices.SortFunc(out, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
			return out, nil
		}
		query.Set("continue", list.Continue)
	}
	return nil, c.fail(fmt.Errorf("there are more than %d; check what listens at that address", nodePage*maxPages), "list the nodes")
}

func nodeOf(n api.Node) Node {
	out := Node{Name: n.Name, Arch: n.Status.NodeInfo.Architecture}
	for _, a := range n.Status.Addresses {
		addr, err := netip.ParseAddr(a.Address)
		switch {
		case a.Type != api.NodeInternalIP || err != nil:
		case !out.Address.IsValid():
			out.Address = addr
		case out.Address.Is6() && addr.Is4():
			out.Address, out.IPv6 = addr, out.Address
		case out.Address.Is4() && addr.Is6() && !out.IPv6.IsValid():
			out.IPv6 = addr
		}
	}
	for _, text := range n.Spec.PodCIDRs {
		if p, err := netip.ParsePrefix(text); err == nil {
			out.PodCIDR = append(out.PodCIDR, p)
		}
	}
	out.Blocked = "it does not report that it is ready"
	for _, cond := range n.Status.Conditions {
		if cond.Type != api.NodeReady {
			continue
		}
		if out.Ready = cond.Status == api.ConditionTrue; out.Ready {
			out.Blocked = ""
		} else {
			out.Blocked = "it is not ready: " + sentence(cond.Message)
		}
	}
	if n.Spec.Unschedulable {
		out.Blocked = "it is cordoned"
	}
	for _, t := range n.Spec.Taints {
		if out.Blocked == "" && (t.Effect == api.TaintEffectNoSchedule || t.Effect == api.TaintEffectNoExecute) {
			out.Blocked = "it has the taint " + sentence(t.String())
		}
	}
	fact := func(name, value string) {
		if value != "" {
			out.Facts = append(out.Facts, result.Fact{Name: name, Value: value})
		}
	}
	i := n.Status.NodeInfo
	fact("node", n.Name)
	fact("address", out.Address.String())
	fact("zone", n.Labels[zoneLabel])
	fact("instance type", n.Labels["node.kubernetes.io/instance-type"])
	fact("kernel", i.KernelVersion)
	fact("system", i.OSImage)
	fact("architecture", i.Architecture)
	fact("kubelet", i.KubeletVersion)
	fact("container runtime", i.ContainerRuntimeVersion)
	fact("CPUs", n.Status.Capacity.Text(api.ResourceCPU))
	fact("memory", n.Status.Capacity.Text(api.ResourceMemory))
	return out
}

// Choose returns the nodes of a run: those that are named, or the first two on which pods can
// be scheduled; only one if the cluster has no second. Nodes on which nothing is scheduled are
// skipped, and named in the error if too few are left.
func Choose(all []Node, names []string) ([]Node, error) {
	var out []Node
	if len(names) > 0 {
		if len(names) > 2 {
			return nil, fmt.Errorf("choose nodes: %d are named, and a path has two ends; name two", len(names))
		}
		for _, name := range names {
			i := slices.IndexFunc(all, func(n Node) bool { return n.Name == name })
			switch {
			case i < 0:
				return nil, fmt.Errorf("choose nodes: the cluster has no node %s; it has %s", name, strings.Join(namesOf(all), ", "))
			case all[i].Blocked != "":
				return nil, fmt.Errorf("choose nodes: no pod can be scheduled on node %s: %s; choose another", name, all[i].Blocked)
			case slices.ContainsFunc(out, func(n Node) bool { return n.Name == name }):
				return nil, fmt.Errorf("choose nodes: %s is named twice; name two nodes, or one for modes within it", name)
			}
			out = append(out, all[i])
		}
		return out, nil
	}
	var blocked []string
	for _, n := range all {
		switch {
		case n.Blocked != "":
			blocked = append(blocked, n.Name+": "+n.Blocked)
		case len(out) < 2:
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("choose nodes: pods can be scheduled on none of %d (%s)", len(all), strings.Join(blocked, "; "))
	}
	return out, nil
}

// NamedNodes returns nodes of which nothing but their names is known, because the user may not list
// them.
func NamedNodes(names []string) (out []Node) {
	for _, name := range names {
		out = append(out, Node{Name: name, Facts: []result.Fact{{Name: "node", Value: name}, {Name: "node's facts", Value: "unknown: the user may not list nodes"}}})
	}
	return out
}

func namesOf(nodes []Node) (out []string) {
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}
