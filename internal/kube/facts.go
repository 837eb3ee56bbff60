package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"tare/internal/kube/api"
	"tare/internal/result"
)

// The names of facts that are compared between nodes, or that a caller completes from elsewhere.
const (
	FactCNI       = "CNI"
	FactProxyMode = "kube-proxy mode"
)

// maxFact bounds the text of a fact that comes from the cluster.
const maxFact = 200

// unknownFact is a fact that could not be read, with the reason.
func unknownFact(name string, err error) result.Fact {
	why := "cannot be read"
	switch {
	case errors.Is(err, ErrForbidden):
		why = "the user may not read it"
	case isNotFound(err):
		why = "the cluster does not have it"
	case err != nil:
		why = sentence(err.Error())
	}
	return result.Fact{Name: name, Value: "unknown: " + why}
}

// text is a text of the cluster as the value of a fact.
func text(s string) string {
	s = sentence(s)
	if len(s) > maxFact {
		s = strings.ToValidUTF8(s[:maxFact], "") + "..."
	}
	return s
}

// networks are pod networks, by a part of the name of the image that they run on each node.
func networks() [][2]string {
	return [][2]string{
		{"flannel", "flannel"}, {"cilium", "cilium"}, {"calico", "calico"}, {"calico", "canal"}, {"kube-router", "kube-router"}, {"antrea", "antrea"}, {"OVN-Kubernetes", "ovn-k"},
		{"Kube-OVN", "kube-ovn"}, {"Weave Net", "weave"}, {"Amazon VPC CNI", "amazon-k8s-cni"}, {"Azure CNI", "azure-cn"}, {"kindnet", "kindnet"}, {"GKE", "netd"}, {"Multus", "multus"},
	}
}

// networkOf returns the name of the pod network to which an image belongs, "" if it is of none.
func networkOf(image string) string {
	name, _, _ := strings.Cut(image, "@")
	parts := strings.Split(name, "/")
	last := strings.Join(parts[max(0, len(parts)-2):], "/") // calico/node
	for _, n := range networks() {
		if strings.Contains(last, n[1]) && !strings.Contains(last, "operator") && !strings.Contains(last, "install-cni") {
			return n[0]
		}
	}
	return ""
}

// NodeFacts returns what the cluster tells about a node's pods and its kubelet: the pod network and
// its version, how many pods run there, and how it assigns CPUs. What the user may not read is
// unknown.
func (c *Cluster) NodeFacts(ctx context.Context, node string) []result.Fact {
	out := c.podFacts(ctx, node)
	return append(out, c.kubeletFacts(ctx, node)...)
}

func (c *Cluster) podFacts(ctx context.Context, node string) []result.Fact {
	var pods api.PodList
	query := url.Values{"fieldSelector": {"spec.nodeName=" + node}}
	if err := c.get(ctx, core+"/pods", query, &pods); err != nil {
		err = c.fail(err, "list the pods of node %s", node)
		return []result.Fact{unknownFact(FactCNI, err), unknownFact("pods", err)}
	}
	running := 0
	var found []string
	for _, p := range pods.Items {
		if p.Status.Phase == api.PodRunning && p.Labels[LabelRun] == "" {
			running++
		}
		daemon := slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" })
		for _, k := range p.Spec.Containers {
			if name := networkOf(k.Image); name != "" && daemon {
				found = append(found, name+": "+text(k.Image))
			}
		}
	}
	slices.Sort(found)
	cni := strings.Join(slices.Compact(found), "; ")
	return []result.Fact{
		{Name: FactCNI, Value: cmp.Or(cni, "unknown: no DaemonSet on the node is of a network that tare knows")},
		{Name: "pods", Value: fmt.Sprintf("%d of others run on the node", running)},
	}
}

// kubeletFacts reads how the kubelet of a node assigns CPUs, which few users may.
func (c *Cluster) kubeletFacts(ctx context.Context, node string) []result.Fact {
	const name = "CPU manager policy"
	var config struct {
		Kubelet struct {
			CPUManager string `json:"cpuManagerPolicy"`
		} `json:"kubeletconfig"`
	}
	if err := c.get(ctx, core+"/nodes/"+url.PathEscape(node)+"/proxy/configz", nil, &config); err != nil {
		return []result.Fact{unknownFact(name, c.fail(err, "read the configuration of the kubelet of node %s", node))}
	}
	if config.Kubelet.CPUManager == "" {
		return []result.Fact{unknownFact(name, nil)}
	}
	return []result.Fact{{Name: name, Value: text(config.Kubelet.CPUManager)}}
}

// settingsMap is a ConfigMap with the configuration of a pod network, or of kube-proxy.
type settingsMap struct {
	namespace, name string
	read            func(data map[string]string) []result.Fact
}

// settingsMaps are the ConfigMaps that are read. Networks that are installed in another way are told by
// their images only.
func settingsMaps() []settingsMap {
	return []settingsMap{
		{"kube-flannel", "kube-flannel-cfg", flannelFacts}, {"kube-system", "kube-flannel-cfg", flannelFacts},
		{"kube-system", "cilium-config", ciliumFacts}, {"kube-system", "calico-config", calicoFacts}, {"kube-system", "antrea-config", antreaFacts},
	}
}

// NetworkFacts returns the configuration of the pod network and of kube-proxy, as far as their
// ConfigMaps tell it. What the user may not read is unknown.
func (c *Cluster) NetworkFacts(ctx context.Context) []result.Fact {
	var out []result.Fact
	var denied error
	for _, s := range settingsMaps() {
		data, err := c.configMap(ctx, s.namespace, s.name)
		switch {
		case err == nil:
			out = append(out, s.read(data)...)
		case !isNotFound(err):
			denied = err
		}
	}
	if len(out) == 0 && denied != nil {
		out = append(out, unknownFact("CNI configuration", denied))
	}
	data, err := c.configMap(ctx, "kube-system", "kube-proxy")
	if err != nil {
		return append(out, unknownFact(FactProxyMode, err))
	}
	return append(out, proxyFacts(data)...)
}

func (c *Cluster) configMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	var m api.ConfigMap
	err := c.get(ctx, in(core, namespace, "configmaps", name), nil, &m)
	return m.Data, c.fail(err, "read the ConfigMap %s in namespace %s", name, namespace)
}

// factsOf returns those keys of a configuration that it has.
func factsOf(prefix string, data map[string]string, keys ...string) (out []result.Fact) {
	for _, k := range keys {
		if v := data[k]; v != "" {
			out = append(out, result.Fact{Name: prefix + " " + k, Value: text(v)})
		}
	}
	return out
}

func flannelFacts(data map[string]string) []result.Fact {
	var conf struct {
		Backend struct {
			Type          string
			DirectRouting bool
		}
		MTU int
	}
	if err := json.Unmarshal([]byte(data["net-conf.json"]), &conf); err != nil || conf.Backend.Type == "" {
		return []result.Fact{unknownFact("flannel backend", err)}
	}
	out := []result.Fact{{Name: "flannel backend", Value: text(conf.Backend.Type)}}
	if conf.Backend.DirectRouting {
		out = append(out, result.Fact{Name: "flannel DirectRouting", Value: "true"})
	}
	return out
}

func ciliumFacts(data map[string]string) []result.Fact {
	return factsOf("cilium", data, "routing-mode", "tunnel", "tunnel-protocol", "kube-proxy-replacement", "enable-wireguard", "enable-ipsec", "mtu", "datapath-mode", "bpf-lb-mode", "enable-bpf-masquerade", "enable-bandwidth-manager")
}

func calicoFacts(data map[string]string) []result.Fact {
	return factsOf("calico", data, "calico_backend", "veth_mtu")
}

func antreaFacts(data map[string]string) []result.Fact {
	var conf map[string]any
	if err := yaml.Unmarshal([]byte(data["antrea-agent.conf"]), &conf); err != nil {
		return []result.Fact{unknownFact("antrea trafficEncapMode", err)}
	}
	flat := map[string]string{}
	for _, k := range []string{"trafficEncapMode", "tunnelType", "trafficEncryptionMode", "defaultMTU"} {
		if v, ok := conf[k]; ok {
			flat[k] = fmt.Sprint(v)
		}
	}
	return factsOf("antrea", flat, "trafficEncapMode", "tunnelType", "trafficEncryptionMode", "defaultMTU")
}

// proxyFacts reads a KubeProxyConfiguration, as kubeadm writes it.
func proxyFacts(data map[string]string) []result.Fact {
	type section struct {
		SyncPeriod    string `json:"syncPeriod"`
		MinSyncPeriod string `json:"minSyncPeriod"`
	}
	var conf struct {
		Mode     string  `json:"mode"`
		IPTables section `json:"iptables"`
		NFTables section `json:"nftables"`
		IPVS     section `json:"ipvs"`
	}
	raw := data["config.conf"]
	if raw == "" {
		return []result.Fact{unknownFact(FactProxyMode, nil)}
	}
	if err := yaml.Unmarshal([]byte(raw), &conf); err != nil {
		return []result.Fact{unknownFact(FactProxyMode, err)}
	}
	of := map[string]section{"": conf.IPTables, "iptables": conf.IPTables, "nftables": conf.NFTables, "ipvs": conf.IPVS}[conf.Mode]
	out := []result.Fact{{Name: FactProxyMode, Value: text(cmp.Or(conf.Mode, "iptables, the default before Kubernetes 1.40"))}}
	for _, f := range []result.Fact{{Name: "kube-proxy syncPeriod", Value: of.SyncPeriod}, {Name: "kube-proxy minSyncPeriod", Value: of.MinSyncPeriod}} {
		if f.Value != "" && f.Value != "0s" {
			f.Value = text(f.Value)
			out = append(out, f)
		}
	}
	return out
}
