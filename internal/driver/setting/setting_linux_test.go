package setting_test

import (
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/drivertest"
	"tare/internal/driver/netns"
	"tare/internal/linuxnet"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// build builds a mode with settings and starts its agents.
func build(t *testing.T, mode string, with map[string]string) *drivertest.Setup {
	t.Helper()
	return drivertest.Build(t, netns.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil), driver.ModeSpec{Mode: mode, Pairs: 1, With: with}))
}

// variant is a mode with settings, and how to take one of them back behind tare's back.
type variant struct {
	mode   string
	with   map[string]string
	revert func(s *drivertest.Setup) error
	want   string // the counter that detects it
}

// kinds are the workloads with which a variant is proven.
func kinds() []string { return []string{"tcp_stream", "tcp_rr", "tcp_crr", "udp_stream"} }

// A variant is proven by trials of each kind, and a trial after the setting was taken back
// is void.
func testVariant(t *testing.T, v variant) {
	t.Helper()
	s := build(t, v.mode, v.with)
	for _, kind := range kinds() {
		if _, _, err := s.Trial(t, drivertest.Params(kind), false); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if err := v.revert(s); err != nil {
		t.Fatal(err)
	}
	s.Void(t, drivertest.Params("tcp_stream"), v.want)
}

// hostB returns the namespace of host b.
func hostB(s *drivertest.Setup) *linuxnet.NS { return s.Lab.B.NS }

func TestSwitches(t *testing.T) {
	gro := func(set bool) func(s *drivertest.Setup) error {
		return func(s *drivertest.Setup) error {
			return hostB(s).SetFeatures("eth0", map[string]bool{"rx-gro": set})
		}
	}
	bridge := func(value string) func(s *drivertest.Setup) error {
		return func(s *drivertest.Setup) error {
			return hostB(s).Sysctl(driver.SysctlBridgeIPv4, value)
		}
	}
	for name, v := range map[string]variant{
		"gro on":         {"netns/bridge", map[string]string{"gro": "on", "tso": "off"}, gro(false), "napi_packets"},
		"gro off":        {"netns/bridge", map[string]string{"gro": "off"}, gro(true), "b/gro.changes"},
		"bridge_nf on":   {"netns/bridge", map[string]string{"bridge_nf": "on"}, bridge("0"), "bridged_bytes"},
		"bridge_nf off":  {"netns/bridge", map[string]string{"bridge_nf": "off"}, bridge("1"), "bridged_packets"},
		"between ports":  {"netns/colocated", map[string]string{"bridge_nf": "on"}, func(s *drivertest.Setup) error { return s.Lab.A.NS.Sysctl(driver.SysctlBridgeIPv4, "0") }, "bridged_bytes"},
		"beside vxlan":   {"netns/vxlan", map[string]string{"gro": "on", "tso": "off"}, gro(false), "napi_packets"},
		"published only": {"netns/published", map[string]string{"bridge_nf": "on"}, bridge("0"), "bridged_bytes"},
	} {
		t.Run(name, func(t *testing.T) { testVariant(t, v) })
	}
}

// A setting that cannot have an effect makes the mode unsupported, and the reason says what
// to do.
func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		mode string
		with map[string]string
		want string
	}{
		"gro on a veth that segments": {"netns/bridge", map[string]string{"gro": "on"}, "add tso: off"},
		"no bridge":                   {"host", map[string]string{"bridge_nf": "on"}, "no namespace of the path has a bridge"},
	} {
		t.Run(name, func(t *testing.T) {
			o := drivertest.SpecOn(drivertest.Spec(t, nil), driver.ModeSpec{Mode: tt.mode, Pairs: 1, With: tt.with})
			p, err := netns.Driver{}.Provision(t.Context(), o)
			if err == nil {
				_ = p.Close(t.Context())
			}
			if u, lacking := driver.AsUnsupported(err); !lacking || !strings.Contains(u.Reason, tt.want) {
				t.Errorf("got %v, want it to be unsupported: %s", err, tt.want)
			}
		})
	}
}
