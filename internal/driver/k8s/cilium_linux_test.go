package k8s_test

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// Modes are proven on Cilium, whose programs at the pods' devices forward packets past the node's routes, and enforce policies: one that
// denies fails its mode and no other. The addresses of services are translated by kube-proxy, or by Cilium itself; packets
// pass its tunnel, or routes between the nodes.
func TestCilium(t *testing.T) {
	all := []string{"k8s/pod", "k8s/pod-local", "k8s/pod-to-node", "k8s/node-to-pod", "k8s/service", "k8s/nodeport"}
	for name, on := range map[string]struct {
		cluster kubetest.Options
		modes   []string
		between string
	}{
		"kube-proxy":            {kubetest.Options{Proxy: "nftables"}, all, "the node has cilium_vxlan (overlay, VXLAN)"},
		"in kube-proxy's place": {kubetest.Options{Proxy: kubetest.CiliumProxy}, all, "the node has cilium_vxlan (overlay, VXLAN)"},
		"native routing":        {kubetest.Options{Proxy: kubetest.CiliumProxy, Native: true}, []string{"k8s/pod", "k8s/service"}, "direct"},
	} {
		t.Run(name, func(t *testing.T) {
			on.cluster.CNI = kubetest.Cilium
			c := kubetest.Start(t, on.cluster)
			d := open(t, c, nil)
			t.Run("modes", func(t *testing.T) {
				run := stay(t, d)
				t.Setenv(timelimit.Variable, "3") // one mode waits in vain
				denied := deny(t, c, d, run)
				for _, mode := range on.modes {
					t.Run(mode, func(t *testing.T) {
						pairs := 1
						if mode == "k8s/service" {
							pairs = 2
						}
						s := checkMode(t, d, run, driver.Order{Mode: mode, Pairs: pairs})
						switch {
						case mode == "k8s/pod":
							must.Contain(t, fact(t, s, "between the nodes"), on.between)
						case mode == "k8s/service" && on.cluster.Native:
							checkReplaced(t, s)
							checkPolicyAdded(t, s)
						}
					})
				}
				denied(t)
			})
			clean(t, c)
		})
	}
}
