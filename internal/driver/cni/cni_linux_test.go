package cni_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/cni"
	"tare/internal/driver/labdriver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
	"tare/internal/testkit/testneed"
)

// Every workload over each mode with the plugin bridge; the built path is the drawn one.
func TestDrawn(t *testing.T) {
	dir := drivertest.NeedCNI(t, "current")
	for _, mode := range []string{"cni/network:bridge", "cni/published:bridge", "cni/colocated:bridge"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			drivertest.Build(t, trusting(), spec(t, mode, 1, map[string]string{"plugins": dir})).Conforms(t, driver.Mode{ID: mode})
		})
	}
}

// Conflists of plugins of the CNI project, current and as packaged, and of flannel: proven with
// two pairs at once, over both families where the plugin has both. kinds are devices of host a
// that must be on the path.
func TestKubernetesConflists(t *testing.T) {
	needFlannel(t)
	for _, tt := range []struct {
		mode, plugins, flannel string
		kinds                  []string
		ipv6                   bool
	}{
		{"cni/network:bridge", "packaged", "", []string{"veth", "bridge", "route", "veth"}, true},
		{"cni/network:ptp", "current", "", []string{"veth", "route", "veth"}, true},
		{"cni/published:ptp", "packaged", "", []string{"veth"}, true},
		{"cni/network:macvlan", "current", "", []string{"veth"}, true},
		{"cni/network:ipvlan", "current", "", []string{"veth"}, true},
		{"cni/network:bandwidth", "current", "", []string{"veth", "ifb", "bridge", "route", "veth"}, true},
		{"cni/network:flannel", "current", "", []string{"veth", "bridge", "route", "veth"}, false},
		{"cni/network:flannel", "current", "host-gw", []string{"veth", "bridge", "veth"}, false},
		{"cni/network:flannel", "current", "vxlan", []string{"veth", "bridge", "vxlan", "veth"}, false},
		{"cni/colocated:macvlan", "current", "", nil, true},
	} {
		t.Run(strings.TrimSuffix(tt.mode+"-"+tt.plugins+"-"+tt.flannel, "-"), func(t *testing.T) {
			t.Parallel()
			o := spec(t, tt.mode, 2, map[string]string{"plugins": drivertest.NeedCNI(t, tt.plugins), "flannel": tt.flannel})
			if strings.HasSuffix(tt.mode, "ipvlan") {
				needIPVlan(t, o)
			}
			s := drivertest.Build(t, trusting(), o)
			s.CheckTopology(t)
			top := must.Get(s.Path.Topology())(t)
			var kinds []string
			for _, n := range top.Nodes {
				if n.Host == "a" && n.Sandbox == "" && n.Kind != "process" {
					kinds = append(kinds, n.Kind)
				}
			}
			if !slices.Equal(kinds, tt.kinds) {
				t.Errorf("host a has %v on the path, want %v", kinds, tt.kinds)
			}
			_, _, lacking := s.Path.Pairs[0].Server.Reach(true)
			must.EqualFor(t, fmt.Sprintf("IPv6: %v", lacking), tt.ipv6, lacking == nil)
			for _, kind := range []string{"tcp_stream", "udp_stream", "tcp_crr"} {
				p := drivertest.Params(kind)
				p.Direction = studytest.Direction(kind == "udp_stream")
				if _, _, err := s.Trial(t, p, tt.ipv6 && kind == "udp_stream"); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
			}
			must.EqualFor(t, "both pairs", nil, must.Err(s.TrialPairs(t, drivertest.Params("tcp_stream"), tt.ipv6, 2)))
			s.ConformsFanIn(t, "http", tt.ipv6)
		})
	}
}

// needIPVlan is for tests of a mode with ipvlan, which must tell that the kernel lacks it; see testneed.
func needIPVlan(t *testing.T, o labdriver.Order) {
	t.Helper()
	if kernelHasIPVlan(t) {
		return
	}
	_, err := trusting().Provision(t.Context(), o)
	if u, is := driver.AsUnsupported(err); !is || !strings.Contains(u.Reason, "failed to create ipvlan: operation not supported") || strings.Contains(err.Error(), "\n") {
		t.Fatalf("without ipvlan in the kernel: %v", err)
	}
	testneed.Unsupported(t, o.Mode, err)
}

// kernelHasIPVlan tries it without a plugin.
func kernelHasIPVlan(t *testing.T) bool {
	t.Helper()
	l := drivertest.Lab(t, nil)
	into := must.Get(l.Namespace("into"))(t)
	return l.A.NS.Links().Child("ipvlan", linuxnet.Device{Name: "ipvl0"}, lab.Underlay, into) == nil
}

// Traffic that bypasses what the plugins have built makes the path void.
func TestKubernetesShortcutsAreVoid(t *testing.T) {
	needFlannel(t)
	for _, tt := range []struct {
		name, mode, flannel string
		open                func(t *testing.T, s *drivertest.Setup) error
		want                string
	}{
		{"a cable between the sandboxes", "cni/network:ptp", "", laid, "a/client/eth0.tx_bytes"},
		{"a cable on one host", "cni/colocated:bridge", "", laid, "a/client/eth0.tx_bytes"},
		{"a cable to the published server", "cni/published:bridge", "", laid, "b/server/eth0.rx_bytes"},
		{"a route past the tunnel", "cni/network:flannel", "vxlan", pastTunnel, "a/flannel.1.tx_bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := build(t, tt.mode, map[string]string{"plugins": drivertest.NeedCNI(t, "current"), "flannel": tt.flannel})
			if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
				t.Fatalf("before the shortcut: %v", err)
			}
			must.Do(t, tt.open(t, s))
			s.WaitReachable(t)
			for _, kind := range []string{"tcp_stream", "udp_stream"} {
				s.Void(t, drivertest.Params(kind), tt.want)
			}
		})
	}
}

// laid lays a cable between the endpoints.
func laid(_ *testing.T, s *drivertest.Setup) error { return s.Cable() }

// pastTunnel routes each sandbox's address over the underlay instead of the tunnel.
func pastTunnel(_ *testing.T, s *drivertest.Setup) error {
	client, _ := s.Namespaces()
	to := s.Path.Pairs[0].Server.Dial[0].Addr()
	back, err := client.Routes().Toward(to)
	if err != nil {
		return err
	}
	near := back.Gateway.Next() // the first address behind the bridge
	return errors.Join(
		s.Lab.A.NS.Routes().Route(netip.PrefixFrom(to, 32), s.Lab.B.Addr[0], ""),
		s.Lab.B.NS.Routes().Route(netip.PrefixFrom(near, 32), s.Lab.A.Addr[0], ""))
}

// The path's facts say which conflist and which plugins built it. What plugins keep in files is
// gone with the path, wherever a conflist puts it.
func TestState(t *testing.T) {
	dir := drivertest.NeedCNI(t, "current")
	kept := filepath.Join(t.TempDir(), "state", "of", "ipam")
	before := listState(t)
	file := write(t, "kept.conflist", `{"cniVersion": "1.0.0", "name": "kept", "plugins": [{"type": "bridge", "isGateway": true, "capabilities": {"ipRanges": true},
 "ipam": {"type": "host-local", "dataDir": "`+kept+`", "routes": [{"dst": "0.0.0.0/0"}]}}]}`)
	s := build(t, "cni/network:"+file, map[string]string{"plugins": dir})
	if _, _, err := s.Trial(t, drivertest.Params("tcp_rr"), false); err != nil {
		t.Error(err)
	}
	facts := map[string]string{}
	for _, f := range s.Path.Facts {
		facts[f.Name] = f.Value
	}
	if !strings.HasPrefix(facts["CNI configuration of host a"], file+", SHA-256 ") || !strings.Contains(facts["CNI plugin bridge"], filepath.Join(dir, "bridge")+" CNI bridge plugin v1") {
		t.Errorf("facts %v", facts)
	}
	if _, err := os.Stat(filepath.Dir(kept)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the plugin's directory %s: %v, want none on this machine", kept, err)
	}
	if after := listState(t); !slices.Equal(before, after) {
		t.Errorf("%s has %v, had %v", cni.StateDir, after, before)
	}
}

// listState lists what the machine keeps for CNI.
func listState(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(cni.StateDir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}

// Host b may have a conflist of its own.
func TestOther(t *testing.T) {
	dir := drivertest.NeedCNI(t, "current")
	of := func(subnet string) string {
		return `{"cniVersion": "1.0.0", "name": "mine", "plugins": [{"type": "ptp", "ipam": {"type": "host-local", "subnet": "` + subnet + `", "routes": [{"dst": "0.0.0.0/0"}]}}]}`
	}
	a, b := write(t, "a.conflist", of("198.19.200.0/24")), write(t, "b.conflist", of("198.19.201.0/24"))
	s := build(t, "cni/network:"+a, map[string]string{"plugins": dir, "conflist-b": b})
	must.EqualFor(t, "the server", "198.19.201.2", s.Path.Pairs[0].Server.Dial[0].Addr().String())
	if _, _, err := s.Trial(t, drivertest.Params("tcp_rr"), false); err != nil {
		t.Error(err)
	}
	_, err := trusting().Provision(t.Context(), spec(t, "cni/network:"+a, 1, map[string]string{"plugins": dir}))
	must.FailFor(t, "with one subnet for both hosts", err, "gave 198.19.200.2 to both a/client and b/server; give each host its own addresses")
}

// A chained plugin changes the devices and settings of the sandboxes.
func TestTuning(t *testing.T) {
	dir := drivertest.NeedCNI(t, "current")
	file := write(t, "tuned.conflist", strings.Replace(chain("tuning"), `"type": "tuning"`, `"type": "tuning", "mtu": 1300, "sysctl": {"net.ipv4.tcp_retries2": "9"}`, 1))
	s := build(t, "cni/network:"+file, map[string]string{"plugins": dir})
	client, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false)
	must.Do(t, err)
	const want = 1300 - 20 - 20 - 12 // without the headers of IPv4 and of TCP with timestamps
	must.EqualFor(t, fmt.Sprintf("the connections are %+v", client.TCP), want, client.MSS)
	near, far := s.Namespaces()
	for _, ns := range []*linuxnet.NS{near, far} {
		must.EqualFor(t, ns.Name()+": tcp_retries2", "9", must.Get(ns.ReadSysctl("net/ipv4/tcp_retries2"))(t))
	}
}
