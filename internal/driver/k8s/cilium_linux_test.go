package k8s_test

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// Modes are proven on Cilium, whose programs at the pods' devices forward packets past the node's routes, and enforce policies: one that
// denies fails its mode and no other. The addresses of services are translated by kube-proxy, or by Cilium itself.
func TestCilium(t *testing.T) {
	for _, proxy := range []string{"nftables", kubetest.CiliumProxy} {
		t.Run(proxy, func(t *testing.T) {
			c := kubetest.Start(t, kubetest.Options{CNI: kubetest.Cilium, Proxy: proxy})
			d := open(t, c, nil)
			t.Run("modes", func(t *testing.T) {
				run := stay(t, d)
				t.Setenv(timelimit.Variable, "3") // one mode waits in vain
				denied := deny(t, c, d, run)
				modes := []string{"k8s/pod", "k8s/pod-local", "k8s/pod-to-node", "k8s/node-to-pod", "k8s/service", "k8s/nodeport"}
				if proxy != kubetest.CiliumProxy { // which leads a pod to itself within the pod
					modes = append(modes, "k8s/hairpin")
				}
				for _, mode := range modes {
					t.Run(mode, func(t *testing.T) {
						s := checkMode(t, d, run, driver.Order{Mode: mode})
						if mode == "k8s/pod" {
							must.Contain(t, fact(t, s, "between the nodes"), "the node has cilium_vxlan (overlay, VXLAN)")
						}
					})
				}
				denied(t)
			})
			clean(t, c)
		})
	}
}
