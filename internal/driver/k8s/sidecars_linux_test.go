package k8s_test

import (
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/k8s"
	"tare/internal/kube"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/kubetest"
	"tare/internal/testkit/must"
)

// The namespaces of the test, by what is added to their pods.
const (
	meshed    = "meshed"
	waiting   = "waiting"
	obstinate = "obstinate"
)

// A path through sidecars that intercept TCP is proven, and void without them; a mode that asks for none has none; containers that are
// added are named.
func TestSidecars(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{})
	c.InjectSidecars(t, meshed, kubetest.Injector{Intercepts: true})
	c.InjectSidecars(t, waiting, kubetest.Injector{})
	c.InjectSidecars(t, obstinate, kubetest.Injector{Obstinate: true})
	in := func(space string) *k8s.Driver {
		return open(t, c, func(o *k8s.Options) { o.Namespace = space })
	}
	added := []string{kubetest.SidecarInit + " (" + c.Shell + ")", kubetest.Sidecar + " (" + c.Shell + ")"}
	for space, want := range map[string]k8s.Injection{"": {}, meshed: {Added: added}, obstinate: {Added: added, Kept: added}} {
		must.EqualFor(t, "injection in namespace "+space, want, must.Get(in(space).Injection(t.Context()))(t))
	}
	off := map[string]string{k8s.OptionSidecars: driver.Off}
	t.Run("modes", func(t *testing.T) {
		d := in(meshed)
		run := stay(t, d)
		for _, mode := range []string{"k8s/pod", "k8s/pod-local", "k8s/service", "k8s/node-to-pod", "k8s/pod-to-node"} {
			t.Run(mode, func(t *testing.T) {
				s := checkMode(t, d, run, driver.Order{Mode: mode})
				says := warnings(s)
				must.Contain(t, says, "ends its TCP connections")
				must.Contain(t, says, strings.Join(added, ", "))
				if mode != "k8s/pod-to-node" {
					must.Contain(t, fact(t, s, "source address"), "that of a proxy in the server's pod")
				}
				if mode == "k8s/pod" {
					checkBypassed(t, c, s)
				}
			})
		}
		t.Run("off", func(t *testing.T) {
			s := checkMode(t, d, run, driver.Order{Mode: "k8s/pod", Options: off})
			must.EqualFor(t, "warnings without sidecars", "", warnings(s))
			must.EqualFor(t, "source address", "kept", fact(t, s, "source address"))
		})
		checkUnsupported(t, d, run, driver.Order{Mode: "k8s/hairpin"}, "a proxy intercepts TCP in the pod of the ")
		checkUnsupported(t, d, run, driver.Order{Mode: "k8s/nodeport"}, "a proxy intercepts TCP in the pod of the server ("+strings.Join(added, ", ")+")")
	})
	t.Run("waiting", func(t *testing.T) {
		d := in(waiting)
		s := checkMode(t, d, stay(t, d), driver.Order{Mode: "k8s/pod-local"})
		must.Contain(t, warnings(s), "the cluster added containers to the pod of the server: "+strings.Join(added, ", "))
	})
	t.Run("obstinate", func(t *testing.T) {
		d := in(obstinate)
		checkUnsupported(t, d, stay(t, d), driver.Order{Mode: "k8s/pod-local", Options: off}, "which asks for none (sidecars: off): "+strings.Join(added, ", "))
	})
	clean(t, c)
}

// warnings returns the texts of a path's warnings.
func warnings(s *drivertest.Setup) string {
	var out []string
	for _, w := range s.Path.Warnings {
		out = append(out, w.Text)
	}
	return strings.Join(out, "\n")
}

// checkBypassed ends the redirection in the client's pod: connections past its sidecar must not pass as those of the path.
func checkBypassed(t *testing.T, c *kubetest.Cluster, s *drivertest.Setup) {
	t.Helper()
	pods := strings.Fields(c.Kubectl(t, "", "get", "pods", "-n", meshed, "-o", "name", "-l", "io.tare.mode="+label(s.Path.Mode)+","+kube.LabelPart+"=client"))
	must.Require(t, len(pods) == 1, "the client's pods: %v", pods)
	c.Kubectl(t, "", "exec", "-n", meshed, pods[0], "-c", kubetest.Sidecar, "--", "/bin/sh", "-c", kubetest.BypassSidecar)
	s.Void(t, drivertest.Params("tcp_stream"), "client/lo.tx_bytes")
}
