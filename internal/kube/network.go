package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Network is an additional network that pods of a cluster can have: a NetworkAttachmentDefinition,
// which is also what OVN-Kubernetes makes of a UserDefinedNetwork.
type Network struct {
	Namespace, Name string
	Type            string // of the CNI plugin, such as macvlan; empty if unknown
}

// NoNetwork is the error that a cluster has no such additional network.
type NoNetwork struct{ Reason string }

func (n *NoNetwork) Error() string { return n.Reason }

// The annotations of the Network Plumbing Working Group's specification: the networks that a pod
// asks for, and what it got, as JSON.
const (
	networkRequest = "k8s.v1.cni.cncf.io/networks"
	networkStatus  = "k8s.v1.cni.cncf.io/network-status"
)

// attachmentV is the path of the API of attachment definitions.
const attachmentV = "/apis/k8s.cni.cncf.io/v1"

// attachmentDefinition is a NetworkAttachmentDefinition, whose type is in no module of the API.
type attachmentDefinition struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Config string `json:"config"`
	} `json:"spec"`
}

// Network finds an additional network by name, or by namespace/name, for which no right beyond that
// namespace is needed. It returns a *NoNetwork if the cluster has none of that name, or pods cannot
// have it beside their own.
func (c *Cluster) Network(ctx context.Context, name string) (*Network, error) {
	d, err := c.attachmentDefinition(ctx, name)
	if err != nil {
		return nil, err
	}
	n := &Network{Namespace: d.Namespace, Name: d.Name}
	var config struct {
		Type, Role string
		Plugins    []struct{ Type string }
	}
	// A definition may leave its configuration to a file of the node.
	if json.Unmarshal([]byte(d.Spec.Config), &config) == nil {
		if len(config.Plugins) > 0 {
			config.Type = cmp.Or(config.Type, config.Plugins[0].Type)
		}
		n.Type = config.Type
	}
	if config.Role == "primary" {
		return nil, &NoNetwork{fmt.Sprintf("network %s replaces the pod network of its namespace instead of adding a device; measure k8s/pod in that namespace", n)}
	}
	return n, nil
}

// attachmentDefinition finds the definition of a network.
func (c *Cluster) attachmentDefinition(ctx context.Context, name string) (d attachmentDefinition, err error) {
	const resource, install = "network-attachment-definitions", "install Multus, or OVN-Kubernetes with multiple networks"
	if space, short, full := strings.Cut(name, "/"); full {
		err := c.get(ctx, in(attachmentV, space, resource, short), nil, &d)
		if isNotFound(err) {
			return d, &NoNetwork{fmt.Sprintf("there is no NetworkAttachmentDefinition %s; create it, and if the cluster has no such resource, %s", name, install)}
		}
		return d, c.fail(err, "look for the network attachment definition %s", name)
	}
	var list struct{ Items []attachmentDefinition }
	err = c.get(ctx, attachmentV+"/"+resource, nil, &list)
	if isNotFound(err) {
		return d, &NoNetwork{"the cluster has no NetworkAttachmentDefinitions: " + install}
	}
	if err != nil {
		return d, c.fail(err, "list the network attachment definitions of all namespaces; name one by NAMESPACE/NAME to look only there")
	}
	var all []string
	var found []attachmentDefinition
	for _, d := range list.Items {
		all = append(all, d.Namespace+"/"+d.Name)
		if name == d.Name {
			found = append(found, d)
		}
	}
	slices.Sort(all)
	switch {
	case len(all) == 0:
		return d, &NoNetwork{"the cluster has no NetworkAttachmentDefinition in any namespace; create one"}
	case len(found) == 0:
		return d, &NoNetwork{fmt.Sprintf("the cluster has no NetworkAttachmentDefinition %s; it has %s", name, strings.Join(all, ", "))}
	case len(found) > 1:
		return d, &NoNetwork{fmt.Sprintf("the cluster has %d NetworkAttachmentDefinitions %s; name one by NAMESPACE/NAME: %s", len(found), name, strings.Join(all, ", "))}
	}
	return found[0], nil
}

// String returns the network's namespace and name.
func (n *Network) String() string { return n.Namespace + "/" + n.Name }

// annotations returns the annotations of a pod that asks for the network.
func (n *Network) annotations() map[string]string {
	if n == nil {
		return nil
	}
	return map[string]string{networkRequest: n.String()}
}

// attachment is an entry of a pod's network status.
type attachment struct {
	Name, Interface string
	IPs             []string
	Default         bool
}

// Attachment returns the device that the pod got on its additional network, and the device's
// addresses, IPv4 first.
func (p *Pod) Attachment() (device string, addrs []netip.Addr, err error) {
	if p.status == "" {
		return "", nil, &NoNetwork{fmt.Sprintf("no plugin of the cluster gave pod %s the network %s, or reported it in the annotation %s; check Multus on node %s", p.Name, p.Network, networkStatus, p.Node)}
	}
	found, err := findAttachment(p.status, p.Network.String())
	if err != nil {
		return "", nil, fmt.Errorf("find the network %s of pod %s on cluster %s: %w", p.Network, p.Name, p.cluster.Context, err)
	}
	for _, text := range found.IPs {
		if addr, err := netip.ParseAddr(text); err == nil {
			addrs = append(addrs, addr.Unmap())
		}
	}
	if len(addrs) == 0 {
		return "", nil, &NoNetwork{fmt.Sprintf("network %s gives pods no address; add ipam to its configuration", p.Network)}
	}
	slices.SortStableFunc(addrs, func(x, y netip.Addr) int { return x.BitLen() - y.BitLen() })
	return found.Interface, addrs, nil
}

// findAttachment returns the entry of a network in a pod's network status.
func findAttachment(status, network string) (attachment, error) {
	var all []attachment
	if err := json.Unmarshal([]byte(status), &all); err != nil {
		return attachment{}, fmt.Errorf("the annotation %s is not as specified: %w", networkStatus, err)
	}
	for _, a := range all {
		if a.Name == network && !a.Default && a.Interface != "" {
			return a, nil
		}
	}
	return attachment{}, errors.New("the annotation " + networkStatus + " does not list it")
}
