package kube

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Networks are recognised by the images of their agents, and not by those of their operators.
func TestNetworkOf(t *testing.T) {
	for image, want := range map[string]string{
		"ghcr.io/flannel-io/flannel:v0.28.4": "flannel", "quay.io/cilium/cilium:v1.18.0@sha256:00": "cilium", "quay.io/cilium/operator-generic:v1.18.0": "",
		"docker.io/calico/node:v3.30.0": "calico", "public.ecr.aws/eks/amazon-k8s-cni:v1": "Amazon VPC CNI", "docker.io/cloudnativelabs/kube-router": "kube-router",
		"example.org/calico/app/web:1": "", "": "",
	} {
		must.EqualFor(t, image, want, networkOf(image))
	}
}

// texts are facts with their values.
func texts(facts []result.Fact) string {
	var out []string
	for _, f := range facts {
		out = append(out, f.Name+" "+f.Value)
	}
	return strings.Join(out, "; ")
}

// Configurations are read as their programs write them; what is none of them is unknown.
func TestNetworkConfigurations(t *testing.T) {
	for name, c := range map[string]struct{ got, want string }{
		"flannel":         {texts(flannelFacts(map[string]string{"net-conf.json": `{"Backend": {"Type": "host-gw"}}`})), "flannel backend host-gw"},
		"routes":          {texts(flannelFacts(map[string]string{"net-conf.json": `{"Backend": {"Type": "vxlan", "DirectRouting": true}}`})), "flannel backend vxlan; flannel DirectRouting true"},
		"broken":          {texts(flannelFacts(nil)), "flannel backend unknown: unexpected end of JSON input"},
		"cilium":          {texts(ciliumFacts(map[string]string{"routing-mode": "native", "enable-wireguard": "true", "debug": "false"})), "cilium routing-mode native; cilium enable-wireguard true"},
		"antrea":          {texts(antreaFacts(map[string]string{"antrea-agent.conf": "trafficEncapMode: encap\ndefaultMTU: 0\nother: 1\n"})), "antrea trafficEncapMode encap; antrea defaultMTU 0"},
		"proxy":           {texts(proxyFacts(map[string]string{"config.conf": "mode: ipvs\nipvs:\n  syncPeriod: 10s\niptables:\n  syncPeriod: 20s\n"})), "kube-proxy mode ipvs; kube-proxy syncPeriod 10s"},
		"default":         {texts(proxyFacts(map[string]string{"config.conf": "mode: \"\"\niptables:\n  syncPeriod: 0s\n"})), "kube-proxy mode iptables, the default before Kubernetes 1.40"},
		"no proxy config": {texts(proxyFacts(nil)), "kube-proxy mode unknown: cannot be read"},
	} {
		must.EqualFor(t, name, c.want, c.got)
	}
}

func FuzzNetworkConfiguration(f *testing.F) {
	f.Add("mode: nftables\n", `{"Backend": {"Type": "vxlan"}}`)
	f.Fuzz(func(t *testing.T, yaml, json string) {
		for _, facts := range [][]string{
			{fmt.Sprint(proxyFacts(map[string]string{"config.conf": yaml}))}, {fmt.Sprint(flannelFacts(map[string]string{"net-conf.json": json}))}, {fmt.Sprint(antreaFacts(map[string]string{"antrea-agent.conf": yaml}))},
		} {
			if len(facts[0]) > 4*(maxFact+300) {
				t.Errorf("a fact of %d bytes", len(facts[0]))
			}
		}
	})
}
