package rootless_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/rootless"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// without specifies a variant of a mode that leaves parts out.
func without(t *testing.T, mode, parts string) labdriver.Order {
	t.Helper()
	o := drivertest.Order(t, mode, 2, nil)
	o.With = map[string]string{}
	for p := range strings.FieldsSeq(parts) {
		o.With[p] = driver.Off
	}
	return o
}

// Each step from host to a mode, and the mode without any one part, is built and proven, or
// unsupported with the reason. Only the variants with the process need the program. Nothing
// is left.
func TestEnginesParts(t *testing.T) {
	drivertest.NeedLab(t)
	for _, mode := range []string{"rootless/pasta", "rootless/pasta-out", "rootless/slirp4netns", "rootless/slirp4netns-out"} {
		for _, tt := range []struct{ without, devices, why string }{
			{"namespace process mtu", "eth0:1500 eth0:1500", ""},
			{"process mtu", "eth0:1500 eth0:1500 veth0:1500 eth0:1500", ""},
			{"process", "eth0:1500 eth0:1500 veth0:65520 eth0:65520", ""},
			{"mtu", "eth0:1500 eth0:1500 tap0:1500", ""},
			{"namespace", "", "the part process needs the part namespace, which is off: "},
			{"namespace process", "", "the part mtu needs the part namespace, which is off: "},
		} {
			t.Run(mode+" without "+tt.without, func(t *testing.T) {
				o := without(t, mode, tt.without)
				if tt.why != "" {
					_, err := rootless.Driver{}.Provision(t.Context(), o)
					if u, is := driver.AsUnsupported(err); !is || !strings.Contains(u.Reason, tt.why) {
						t.Errorf("got %v, want %s", err, tt.why)
					}
					return
				}
				if !strings.Contains(tt.without, "process") {
					needMode(t, mode)
				} else {
					t.Setenv("PATH", t.TempDir())
				}
				t.Cleanup(func() {
					if left, err := linuxnet.Pinned(lab.Prefix + o.Run); err != nil || len(left) > 0 {
						t.Errorf("left: %v, %v", left, err)
					}
				})
				s := drivertest.Build(t, rootless.Driver{}, o)
				s.CheckTopology(t)
				checkDevices(t, s, tt.devices, strings.HasSuffix(mode, "-out"))
				proveAll(t, s)
			})
		}
	}
}

// checkDevices checks the devices of a path, and that the baseline's path is that of host.
func checkDevices(t *testing.T, s *drivertest.Setup, want string, out bool) {
	t.Helper()
	top := must.Get(s.Path.Topology())(t)
	var devices []string
	for _, n := range top.Nodes {
		label, _, _ := strings.Cut(n.Label, " ")
		for _, f := range n.Facts {
			if f.Name == "mtu" {
				devices = append(devices, label+":"+f.Value)
			}
		}
	}
	if out {
		slices.Reverse(devices)
	}
	must.EqualFor(t, "the path has the devices", want, strings.Join(devices, " "))
	if len(devices) == 2 {
		drivertest.CheckGoldenPath(t, "host", top, s.Path.Findings(nil, nil, nil))
	}
}

// proveAll runs short trials over IPv4, the modes' only address family, and one over both
// pairs.
func proveAll(t *testing.T, s *drivertest.Setup) {
	t.Helper()
	for _, kind := range []string{"tcp_stream", "tcp_rr", "udp_stream"} {
		p := drivertest.Params(kind)
		p.Warmup, p.Duration = 20*time.Millisecond, 60*time.Millisecond
		if _, _, err := s.Trial(t, p, false); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	must.EqualFor(t, "both pairs", nil, must.Err(s.TrialPairs(t, drivertest.Params("tcp_stream"), false, 2)))
}

// A direct link beside the veth makes the path without the process void.
func TestShortcutBesideVeth(t *testing.T) {
	for mode, want := range map[string]string{"rootless/pasta": "a/eth0.tx_bytes", "rootless/pasta-out": "a/eth0.tx_bytes"} {
		s := drivertest.Build(t, rootless.Driver{}, without(t, mode, "process mtu"))
		p := drivertest.Params("tcp_stream")
		if _, _, err := s.Trial(t, p, false); err != nil {
			t.Fatalf("%s before the shortcut: %v", mode, err)
		}
		must.Do(t, s.Cable())
		s.WaitReachable(t)
		s.Void(t, p, want)
	}
}

// An MTU can be requested only with the part that sets it.
func TestMTUWithoutPart(t *testing.T) {
	o := without(t, "rootless/pasta", "mtu")
	o.MTU = 1400
	must.Fail(t, must.Err((rootless.Driver{}).Provision(t.Context(), o)), "an MTU of 1400 is requested, and the part mtu, which sets it, is off")
}
