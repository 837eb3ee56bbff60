package k8s

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/agent/wire"
	"tare/internal/driver/remote"
	"tare/internal/kube"
	"tare/internal/observe"
	"tare/internal/result"
	"tare/internal/timelimit"
	"tare/internal/warning"
)

// describeTimeout bounds how long the nodes may take to be described.
func describeTimeout() time.Duration { return timelimit.Scaled(20 * time.Second) }

// loadWindow is how long the CPU use of others is observed.
const loadWindow = 500 * time.Millisecond

// busyNode is the share of a node's CPUs from which the use by others is a warning.
const busyNode = 0.1

// NodeFacts returns what the cluster, and an agent on each node, tell about the nodes of a run that
// is set up: their pod network and its configuration, kube-proxy, kernel, CPUs, the device toward
// the other node, and how much of their CPUs others use. What cannot be read is unknown.
func (d *Driver) NodeFacts(ctx context.Context, run string) (facts [][]result.Fact, warnings []result.Warning) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout())
	defer cancel()
	c, nodes := d.Cluster()
	facts = make([][]result.Fact, len(nodes))
	network := c.NetworkFacts(ctx)
	busy := make([]*result.Warning, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			facts[i] = append(c.NodeFacts(ctx, n.Name), network...)
			session, err := d.sessions.Enter(ctx, run, i)
			if err != nil {
				facts[i] = append(facts[i], result.Fact{Name: "node as its agent sees it", Value: "unknown: " + err.Error()})
				return
			}
			defer func() { _ = d.sessions.Leave(context.WithoutCancel(ctx), session) }() // paths are set up: it is not the last
			toward := nodes[len(nodes)-1-i]
			facts[i], busy[i] = agentFacts(ctx, session.Host(i), n, toward, facts[i])
		})
	}
	wg.Wait()
	for _, w := range busy {
		if w != nil {
			warnings = append(warnings, *w)
		}
	}
	return facts, warnings
}

// agentFacts completes the facts of a node by those that an agent on its network reads.
func agentFacts(ctx context.Context, h *remote.Host, node, toward kube.Node, facts []result.Fact) ([]result.Fact, *result.Warning) {
	add := func(f result.Fact) {
		if !slices.ContainsFunc(facts, func(o result.Fact) bool { return o.Name == f.Name }) {
			facts = append(facts, f)
		}
	}
	began := time.Now()
	_, before, loadErr := h.Monitor.CPU(ctx)
	if links, _, err := h.Monitor.Links(ctx, toward.Address); err == nil {
		facts = replaceUnknown(facts, kube.FactCNI, networkByDevice(links))
	}
	if mode, err := h.Monitor.ProxyMode(ctx); err == nil {
		facts = replaceUnknown(facts, kube.FactProxyMode, mode+" (as kube-proxy on the node tells)")
	}
	if m, err := h.Monitor.Machine(ctx, toward.Address); err != nil {
		add(result.Fact{Name: "node as its agent sees it", Value: "unknown: " + err.Error()})
	} else {
		for _, f := range slices.Concat(m.Facts, m.Link) {
			add(f)
		}
	}
	if loadErr != nil {
		add(result.Fact{Name: "CPU use of others", Value: "unknown: " + loadErr.Error()})
		return facts, nil
	}
	select {
	case <-time.After(time.Until(began.Add(loadWindow))):
	case <-ctx.Done():
	}
	_, after, err := h.Monitor.CPU(ctx)
	if err != nil {
		add(result.Fact{Name: "CPU use of others", Value: "unknown: " + err.Error()})
		return facts, nil
	}
	used, all, ok := cpusUsed(before, after, time.Since(began))
	if !ok {
		add(result.Fact{Name: "CPU use of others", Value: "unknown: the counters of the node do not tell it"})
		return facts, nil
	}
	add(result.Fact{Name: "CPU use of others", Value: fmt.Sprintf("%.2f of %.0f CPUs before the first trial", used, all)})
	if used <= busyNode*all {
		return facts, nil
	}
	return facts, new(warning.New(warning.NodeBusy, "run",
		"before the first trial others use %.1f of %.0f CPUs of node %s: they share its CPUs and its network, so values are lower and vary more. Choose other nodes (--nodes), or a quieter time.", warning.Said(used), all, node.Name))
}

// cpusUsed returns how many CPUs were busy between two samples of a machine, and how many it has.
func cpusUsed(before, after observe.Sample, elapsed time.Duration) (used, all float64, ok bool) {
	spent, gaps := after.Since(before)
	sum := 0.0
	for _, name := range []string{"user", "system", "irq", "softirq", "steal", "idle"} {
		sum += spent[name]
	}
	if len(gaps) > 0 || !(sum > 0) || elapsed <= 0 {
		return 0, 0, false
	}
	all = max(1, float64(int(sum/elapsed.Seconds()+0.5)))
	return all * (1 - spent["idle"]/sum), all, true
}

// replaceUnknown replaces the value of a fact that the cluster did not tell.
func replaceUnknown(facts []result.Fact, name, value string) []result.Fact {
	for i, f := range facts {
		if f.Name == name && strings.HasPrefix(f.Value, "unknown") && value != "" {
			facts[i].Value = value
		}
	}
	return facts
}

// networkByDevice recognises a pod network by the devices that it makes on a node, "" if there is
// none of a known one.
func networkByDevice(links []wire.Link) string {
	for _, n := range [][2]string{
		{"flannel", "flannel."}, {"cilium", "cilium_"}, {"calico", "cali"}, {"calico", "vxlan.calico"}, {"kube-router", "kube-bridge"}, {"OVN-Kubernetes", "ovn-k8s-"}, {"antrea", "antrea-gw"},
	} {
		for _, l := range links {
			if strings.HasPrefix(l.Name, n[1]) {
				return fmt.Sprintf("%s, by its device %s; its version is unknown", n[0], l.Name)
			}
		}
	}
	return ""
}

// deviceFact describes the device of a pod as its agent sees it.
func deviceFact(ctx context.Context, e *endpoint) result.Fact {
	f := result.Fact{Name: e.Name + " device", Value: fmt.Sprintf("%s, MTU %d", e.Link.Name, e.Link.MTU)}
	m, err := e.Agent.Machine(ctx, e.Addr)
	if err != nil {
		return f
	}
	for _, l := range m.Link {
		if l.Name == "link_offloads" {
			f.Value += ", offloads " + l.Value
		}
	}
	return f
}
