package k8s_test

import (
	"context"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/drivertest"
	"tare/internal/driver/k8s"
	"tare/internal/kube"
	"tare/internal/kube/kubetest"
	"tare/internal/lab"
)

// open returns a driver for a cluster, which is left as it was.
func open(t *testing.T, c *kubetest.Cluster, change func(*k8s.Options)) *k8s.Driver {
	t.Helper()
	o := k8s.Options{Options: kube.Options{Kubeconfig: c.Admin}}
	if change != nil {
		change(&o)
	}
	d := k8s.New(o)
	if err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// stay keeps a path set up for the length of a test, and with it what all paths of a run share,
// as other modes do in a run. It returns the run.
func stay(t *testing.T, d *k8s.Driver) lab.Spec {
	t.Helper()
	spec := drivertest.Spec(t, func(l *lab.Spec) { l.Label = "first" })
	p, err := d.Provision(t.Context(), drivertest.SpecOn(spec, driver.ModeSpec{Mode: "k8s/hostnet", Pairs: 1}).ModeSpec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return spec
}

// checkMode builds a mode and expects it to be proven for streams both ways, connections and
// datagrams.
func checkMode(t *testing.T, d *k8s.Driver, run lab.Spec, o driver.ModeSpec) *drivertest.Setup {
	t.Helper()
	o.Pairs = max(o.Pairs, 1)
	o = drivertest.SpecOn(run, o).ModeSpec
	o.Label = strings.ReplaceAll(o.Mode, "/", ".")
	s := drivertest.BuildOn(t, d, o)
	s.CheckTopology(t)
	for _, w := range []struct {
		kind    string
		reverse bool
	}{{"tcp_stream", false}, {"tcp_stream", true}, {"tcp_crr", false}, {"udp_stream", false}} {
		p := drivertest.Params(w.kind)
		if p.Reverse = w.reverse; w.kind == "tcp_crr" {
			p.RequestSize, p.ResponseSize = 2000, 2000 // a busy machine opens few connections
		}
		reports, err := s.TrialPairs(t, p, false, o.Pairs)
		if err != nil {
			t.Errorf("%s, reverse %t: %v", w.kind, w.reverse, err)
		}
		for i, r := range reports {
			if r.Client.Received+r.Server.Received == 0 {
				t.Errorf("%s, reverse %t: pair %d carried nothing", w.kind, w.reverse, i+1)
			}
		}
	}
	return s
}

// fact returns a fact of a path.
func fact(t *testing.T, s *drivertest.Setup, name string) string {
	t.Helper()
	for _, f := range s.Path.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	t.Errorf("the path has no fact %q: %v", name, s.Path.Facts)
	return ""
}

// Every mode is proven on a cluster with routes between its nodes, and tells what is between them
// and what happens to addresses.
func TestModes(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{})
	d := open(t, c, nil)
	t.Run("modes", func(t *testing.T) {
		run := stay(t, d)
		for _, m := range d.Modes() {
			t.Run(m.ID, func(t *testing.T) {
				s := checkMode(t, d, run, driver.ModeSpec{Mode: m.ID})
				switch m.ID {
				case "k8s/pod":
					if got := fact(t, s, "between the nodes"); got != "direct: device eth0, MTU 1500" {
						t.Errorf("between the nodes: %s", got)
					}
				case "k8s/service":
					if got := fact(t, s, "destination address"); !strings.Contains(got, "DNAT") {
						t.Errorf("destination address: %s", got)
					}
				}
			})
		}
	})
	clean(t, c)
}

// clean fails if anything of a run is left on a cluster.
func clean(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	for _, kind := range []string{"namespaces", "pods", "services", "networkpolicies", "clusterroles", "clusterrolebindings"} {
		out := c.Kubectl(t, "", "get", kind, "-A", "-o", "name", "-l", kube.LabelRun)
		if strings.TrimSpace(out) != "" {
			t.Errorf("left: %s", out)
		}
	}
}
