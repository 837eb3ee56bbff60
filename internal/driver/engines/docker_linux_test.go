package engines_test

import (
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/driver/labdriver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// Modes of every packaged engine on every kernel. Published ports of several pairs have counters that
// are not drawn.
func TestConformance(t *testing.T) {
	drivertest.NeedEngine(t)
	for mode, pairs := range map[string]int{
		"docker/published": 1, "docker/bridge": 1, "docker/to-host": 1, "docker/userland-proxy": 1, "docker/nat": 1,
		"docker/host": 2, "docker/colocated": 2, "docker/macvlan": 2,
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			drivertest.Conformance(t, packaged(mode), pairs)
		})
	}
}

// The route to the published port of a container moves to another link while requests are in progress.
func TestEnginesRouteChange(t *testing.T) {
	drivertest.NeedEngine(t)
	for _, mode := range []string{"docker/published", "docker/bridge"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			drivertest.Provision(t, engines.Docker{}, mode, nil).CheckRouteChange(t, false)
		})
	}
}

// The link to the published port of a container is lost while requests are in progress, and a second one takes its place.
func TestEnginesLinkLost(t *testing.T) {
	drivertest.NeedEngine(t)
	for _, mode := range []string{"docker/published", "docker/bridge"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			drivertest.Provision(t, engines.Docker{}, mode, nil).CheckLinkLost(t, false)
		})
	}
}

// Other modes of the packaged engine: of a Swarm, of kernels with more devices, and with other routes.
// TestEnginesCurrent has those that only a current engine has.
func TestEnginesConformance(t *testing.T) {
	drivertest.NeedEngine(t)
	drivertest.Conformance(t, packaged("docker/direct-routing", "docker/service-host-port", "docker/ingress"), 1)
	drivertest.Conformance(t, packaged("docker/ipvlan", "docker/overlay", "docker/overlay-encrypted"), 2)
}

// packaged are modes with the packaged engine.
func packaged(modes ...string) on { return on{engines.Docker{}, study.Engine{}, modes} }

// Two pairs with published ports are proven at the same time, and two clients of one server.
func TestEnginesPairs(t *testing.T) {
	drivertest.NeedEngine(t)
	drivertest.ConformancePairs(t, packaged("docker/published", "docker/userland-proxy", "docker/service-host-port", "docker/direct-routing"))
}

// Clients of three pairs have the server of the first one in modes whose conformance test has one pair.
func TestEnginesFanIn(t *testing.T) {
	drivertest.NeedEngine(t)
	for _, mode := range []string{"docker/bridge", "docker/to-host", "docker/nat", "docker/ingress"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			drivertest.ProvisionPairs(t, engines.Docker{}, mode, 3, nil).ConformsFanIn(t, "tcp_rr", false)
		})
	}
}

// The study's lab settings apply to the devices that an engine creates: without offloads no
// packet is larger than the MTU, and the underlay's rate limit holds.
func TestEnginesLabHoldsForEngines(t *testing.T) {
	drivertest.NeedEngine(t)
	const rate, mtu = 200e6, 1400
	s := drivertest.Provision(t, engines.Docker{}, "docker/bridge", func(l *lab.Spec) { l.Offload, l.Rate, l.MTU = false, rate, mtu })
	from, _ := engines.EndNamespaces(s.Path)
	began := time.Now()
	before, sent := must.Get(from.Links().Stats("eth0"))(t), must.Get(s.Lab.A.NS.Links().Stats(lab.Underlay))(t).TxBytes
	must.Get2(s.Trial(t, drivertest.Params("tcp_stream"), false))(t)
	after := must.Get(from.Links().Stats("eth0"))(t)
	sent = must.Get(s.Lab.A.NS.Links().Stats(lab.Underlay))(t).TxBytes - sent
	if n := float64(after.TxBytes-before.TxBytes) / float64(after.TxPackets-before.TxPackets); n > mtu+14 {
		t.Errorf("%.0f bytes a packet left the container, with offloads off and an MTU of %d", n, mtu)
	}
	burst, _ := linuxnet.Bucket(rate, mtu)
	if most := rate/8*time.Since(began).Seconds() + float64(burst); float64(sent) > most {
		t.Errorf("%d bytes over a limit of %.3g bit/s, at most %.3g could pass", sent, rate, most)
	}
	top := must.Get(s.Path.Topology())(t)
	for _, n := range top.Nodes {
		for _, f := range n.Facts {
			if f.Name == "mtu" && f.Value != "1400" {
				t.Errorf("%s %s of %s has an MTU of %s", n.Kind, n.Label, n.Host, f.Value)
			}
			if f.Name == "offloads" && strings.ContainsAny(f.Value, "gt") && strings.Contains(f.Value, "so") {
				t.Errorf("%s %s of %s has offloads on: %s", n.Kind, n.Label, n.Host, f.Value)
			}
		}
	}
}

// Limits are applied by the engine and read back from it; an endpoint that is not a
// container has none.
func TestEnginesLimits(t *testing.T) {
	drivertest.NeedEngine(t)
	some := study.Limit{CPUs: 0.5, Memory: 96 << 20}
	s := drivertest.Build(t, engines.Docker{}, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: "docker/published", Pairs: 1, Limits: study.Limits{Server: some}}))
	facts := map[string]string{}
	for _, f := range s.Path.Facts {
		facts[f.Name] = f.Value
	}
	must.Equal(t, "0.5 CPUs, memory 96MiB", facts["server limit"])
	if facts["b engine"] == "" || facts["b runc"] == "" || facts["a engine"] != "" {
		t.Errorf("the facts name other engines than the one on b: %v", facts)
	}
	if !strings.HasSuffix(facts["b userland proxy"], "docker-proxy") {
		t.Errorf("the facts do not name the userland proxy: %v", facts)
	}
	if _, _, err := s.Trial(t, drivertest.Params("tcp_rr"), false); err != nil {
		t.Error(err)
	}
	for mode, limits := range map[string]study.Limits{
		"docker/published":      {Client: some},
		"docker/to-host":        {Server: some},
		"docker/userland-proxy": {Client: some},
		"docker/ingress":        {Client: some},
	} {
		_, err := engines.Docker{}.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: mode, Pairs: 1, Limits: limits}))
		if u, ok := driver.AsUnsupported(err); !ok || !strings.Contains(u.Reason, "host process") {
			t.Errorf("%s with %+v: %v", mode, limits, err)
		}
	}
}

func TestUnknownModeAndPairs(t *testing.T) {
	for _, o := range []driver.Order{{Mode: "docker/none", Pairs: 1}, {Mode: "docker/host", Pairs: driver.MaxPairs + 1}, {Mode: "docker/host"}} {
		if p, err := (engines.Docker{}).Provision(t.Context(), labdriver.Order{Order: o}); err == nil {
			t.Errorf("%+v was built: %v", o, p)
		}
	}
}
