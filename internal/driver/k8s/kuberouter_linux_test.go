package k8s_test

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// Modes are proven on kube-router, which routes pods as it learns by BGP, and enforces policies with
// iptables and sets of addresses: one that denies fails its mode and no other.
func TestKubeRouter(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{CNI: kubetest.KubeRouter})
	d := open(t, c, nil)
	t.Run("modes", func(t *testing.T) {
		run := stay(t, d)
		t.Setenv(timelimit.Variable, "3") // one mode waits in vain
		denied := deny(t, c, d, run)
		for _, mode := range []string{"k8s/pod", "k8s/pod-local", "k8s/service", "k8s/nodeport"} {
			t.Run(mode, func(t *testing.T) {
				s := checkMode(t, d, run, driver.Order{Mode: mode})
				if mode == "k8s/pod" {
					must.EqualFor(t, "between the nodes", "direct: device eth0, MTU 1500", fact(t, s, "between the nodes"))
					checkPolicyAdded(t, s)
				}
			})
		}
		denied(t)
	})
	clean(t, c)
}
