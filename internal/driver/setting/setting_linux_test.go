package setting_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/netns"
	"tare/internal/driver/setting"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// spec describes a mode with settings, as pairs of name and value.
func spec(mode string, with ...string) driver.Order {
	s := driver.Order{Mode: mode, Pairs: 1, With: map[string]string{}}
	for i := 0; i < len(with); i += 2 {
		s.With[with[i]] = with[i+1]
	}
	return s
}

// variant is a mode with settings, how to take one of them back behind tare's back, and the
// counter that detects it. The last two are empty if that cannot be done.
type variant struct {
	of     driver.Order
	revert func(a, b *linuxnet.NS) error // in the namespaces of the hosts
	want   string
}

// feature switches an offload of a host's link.
func feature(host, name string, set bool) func(a, b *linuxnet.NS) error {
	return func(a, b *linuxnet.NS) error {
		return map[string]*linuxnet.NS{"a": a, "b": b}[host].Tuning().SetFeatures(lab.Underlay, map[string]bool{name: set})
	}
}

// offloads are the variants with offload settings. TSO and GRO are taken back on a device
// that the packets above the MTU reach first: later ones no longer receive any.
func offloads() map[string]variant {
	segment := feature("a", "tx-tcp-segmentation", true)
	checksum := func(a, b *linuxnet.NS) error {
		return errors.Join(feature("a", "tx-checksum-ip-generic", true)(a, b), segment(a, b))
	}
	sizes := func(a, _ *linuxnet.NS) error { return a.Tuning().SetPacketSizes(lab.Underlay, 65536) }
	return map[string]variant{
		"tso off":                 {spec("host", "tso", "off"), segment, "a/eth0.tx_packets"},
		"tso off beside vxlan":    {spec("netns/vxlan", "tso", "off"), segment, "a/tso.changes"},
		"tso on":                  {spec("host", "tso", "on"), feature("a", "tx-tcp-segmentation", false), "a/tso.changes"},
		"gso off":                 {spec("host", "gso", "off"), segment, "a/eth0.tx_packets"},
		"checksum off":            {spec("host", "checksum", "off"), checksum, "a/eth0.tx_packets"},
		"gso_max_size 8000":       {spec("host", "gso_max_size", "8000"), sizes, "a/eth0.tx_packets"},
		"gso_max_size of BIG TCP": {spec("netns/bridge", "gso_max_size", "185000"), sizes, "b/eth0.large_packets"},
		"gro on":                  {spec("netns/bridge", "gro", "on", "tso", "off"), feature("b", "rx-gro", false), "b/eth0.napi_packets"},
		"gro on beside vxlan":     {spec("netns/vxlan", "gro", "on", "tso", "off"), feature("b", "rx-gro", false), "b/eth0.napi_packets"},
		"gro off":                 {spec("netns/bridge", "gro", "off"), feature("b", "rx-gro", true), "b/gro.changes"},
	}
}

// steering are the variants with settings of queues and of the CPUs that receive.
func steering() map[string]variant {
	zero := func(attribute string) func(a, b *linuxnet.NS) error {
		return func(_, b *linuxnet.NS) error { return b.Tuning().SetDeviceAttribute(lab.Underlay, attribute, "0") }
	}
	qdisc := func(kind string) func(a, b *linuxnet.NS) error {
		return func(a, _ *linuxnet.NS) error { return a.Tuning().SetQdisc(lab.Underlay, kind) }
	}
	return map[string]variant{
		"threaded_napi on": {spec("netns/bridge", "gro", "on", "tso", "off", "threaded_napi", "on"), zero("threaded"), "b/eth0.napi_thread_ns"},
		"queues":           {spec("host", "queues", "2"), func(a, _ *linuxnet.NS) error { return a.Tuning().SetQueues(lab.Underlay, 2, 1) }, "a/queues.changes"},
		"rps to one CPU":   {spec("netns/bridge", "rps", "0"), zero("queues/rx-0/rps_cpus"), "b/rps.changes"},
		"rps to all CPUs":  {spec("netns/bridge", "rps", "all"), zero("queues/rx-0/rps_cpus"), "b/rps.changes"},
		"xps on":           {spec("host", "queues", "2", "xps", "on"), zero("queues/tx-1/xps_cpus"), "b/xps.changes"},
		"pfifo_fast":       {spec("netns/bridge", "qdisc", "pfifo_fast"), qdisc("noqueue"), "a/eth0.qdisc_packets"},
		"noqueue":          {spec("host", "qdisc", "noqueue"), qdisc("pfifo_fast"), "a/qdisc.changes"},
		"txqueuelen": {spec("host", "qdisc", "pfifo_fast", "txqueuelen", "2000"),
			func(a, _ *linuxnet.NS) error { return a.Tuning().SetQueueLength(lab.Underlay, 10) }, "a/txqueuelen.changes"},
	}
}

// netfilter are the variants with settings of the packet filter.
func netfilter() map[string]variant {
	bridge := func(value string) func(a, b *linuxnet.NS) error {
		return func(a, b *linuxnet.NS) error {
			return errors.Join(a.Sysctl(driver.SysctlBridgeIPv4, value), b.Sysctl(driver.SysctlBridgeIPv4, value))
		}
	}
	remove := func(_, b *linuxnet.NS) error { return b.Rules().DropTable("tare-tracking") }
	flush := func(a, b *linuxnet.NS) error {
		return errors.Join(a.Rules().FlushConntrack(), b.Rules().FlushConntrack())
	}
	return map[string]variant{
		"bridge_nf on, from a bridge":   {spec("netns/bridge", "bridge_nf", "on"), bridge("0"), "a/br0.bridged_bytes"},
		"bridge_nf on, to a bridge":     {spec("netns/published", "bridge_nf", "on"), bridge("0"), "b/br0.bridged_bytes"},
		"bridge_nf on, across a bridge": {spec("netns/colocated", "bridge_nf", "on"), bridge("0"), "a/br0.bridged_bytes"},
		"bridge_nf on beside vxlan":     {spec("netns/vxlan", "bridge_nf", "on"), nil, ""},
		"bridge_nf off":                 {spec("netns/bridge", "bridge_nf", "off"), bridge("1"), "a/br0.bridged_packets"},
		"tracking on":                   {spec("host", "tracking", "on"), remove, "b/tracking.new_packets"},
		"tracking on, routed":           {spec("netns/bridge", "tracking", "on"), remove, "b/tracking.new_packets"},
		"tracking off":                  {spec("host", "tracking", "off"), remove, "b/tracking.untracked_packets"},
		"tracking off on loopback":      {spec("host-local", "tracking", "off"), func(a, _ *linuxnet.NS) error { return a.Rules().DropTable("tare-tracking") }, "a/tracking.untracked_packets"},
		"conntrack_fill":                {spec("netns/published", "conntrack_fill", "2000"), flush, ""},
		"conntrack_fill of a host":      {spec("host", "tracking", "on", "conntrack_fill", "2000"), flush, ""},
	}
}

// One setting of each kind; the tests below have all.
func TestVariants(t *testing.T) {
	testVariants(t, map[string]variant{"offload": offloads()["tso off"], "steering": steering()["rps to one CPU"], "netfilter": netfilter()["tracking on, routed"]})
}

func TestEnginesOffloads(t *testing.T)  { testVariants(t, offloads()) }
func TestEnginesSteering(t *testing.T)  { testVariants(t, steering()) }
func TestEnginesNetfilter(t *testing.T) { testVariants(t, netfilter()) }

// testVariants proves each variant in trials of several kinds, and expects one after its
// setting was taken back to be void. Each setting is among the facts.
func testVariants(t *testing.T, all map[string]variant) {
	t.Helper()
	for name, v := range all {
		t.Run(name, func(t *testing.T) {
			o := drivertest.SpecOn(drivertest.Spec(t, nil), v.of)
			needSysfs(t, o)
			s := drivertest.Build(t, netns.Driver{}, o)
			for _, kind := range []string{"tcp_stream", "tcp_crr", "udp_stream"} {
				if _, _, err := s.Trial(t, drivertest.Params(kind), false); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
			}
			checkFacts(t, s.Path.Facts, v.of.With)
			if v.revert == nil {
				return
			}
			must.Do(t, v.revert(s.Lab.A.NS, s.Lab.B.NS))
			if v.want == "" { // what was taken back is restored before each trial
				if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
					t.Error(err)
				}
				return
			}
			p := drivertest.Params("tcp_stream")
			p.Duration = time.Second // enough for the largest part of a stream that a rule is about
			s.Void(t, p, v.want)
		})
	}
}

// needSysfs skips the test if this process may not have a sysfs of a namespace, as in a user
// namespace, and the mode is unsupported for that reason.
func needSysfs(t *testing.T, o labdriver.Order) {
	t.Helper()
	if linuxnet.RealRoot() {
		return
	}
	p, err := netns.Driver{}.Provision(t.Context(), o)
	if u, lacking := driver.AsUnsupported(err); lacking && strings.Contains(u.Reason, "open sysfs") {
		testneed.Missing(t, testneed.Root, err)
	}
	if err == nil {
		err = p.Close(t.Context())
	}
	must.Do(t, err)
}

func checkFacts(t *testing.T, facts []result.Fact, with map[string]string) {
	t.Helper()
	missing := maps.Clone(with)
	for _, f := range facts {
		name, _ := strings.CutPrefix(f.Name, "with ")
		must.True(t, strings.HasPrefix(f.Value, with[name]+" at "), "%s is %q, not of %q", f.Name, f.Value, with[name])
		delete(missing, name)
	}
	must.True(t, len(missing) == 0, "no facts on %v", missing)
}

// Each pair has its own devices, and a pair that is idle is not expected to show a setting.
func TestEnginesPairs(t *testing.T) {
	for _, of := range []driver.Order{spec("netns/colocated", "tso", "off", "gro", "on", "bridge_nf", "on"), spec("netns/bridge", "gso_max_size", "8000", "tracking", "on")} {
		of.Pairs = 2
		s := drivertest.Build(t, netns.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil), of))
		for pairs := 1; pairs <= 2; pairs++ {
			must.EqualFor(t, fmt.Sprintf("%s with %d pairs", of.Mode, pairs), nil, must.Err(s.TrialPairs(t, drivertest.Params("tcp_stream"), false, pairs)))
		}
	}
}

// Over IPv6 and from server to client, a setting is proven as well. Linux 6.18 forwards no
// packets above 64 KiB over IPv6, so that the path has no router.
func TestEnginesOtherDirection(t *testing.T) {
	s := drivertest.Build(t, netns.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil), spec("host", "gso_max_size", "185000", "tracking", "on")))
	_, _, none := s.Path.Pairs[0].Server.Reach(true)
	for _, ipv6 := range []bool{false, true} {
		if ipv6 && none != nil {
			continue // the kernel has no IPv6
		}
		p := drivertest.Params("tcp_stream")
		p.Direction = study.Reverse
		if _, _, err := s.Trial(t, p, ipv6); err != nil {
			t.Errorf("ipv6 %t: %v", ipv6, err)
		}
	}
}

// Entries that a flush removes during a trial make it void.
func TestEnginesFillIsLost(t *testing.T) {
	s := drivertest.Build(t, netns.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil), spec("host", "tracking", "on", "conntrack_fill", "2000")))
	before := s.Snapshot(t)
	must.Do(t, s.Lab.B.NS.Rules().FlushConntrack())
	after := must.Get(s.Path.Snapshot(t.Context()))(t)
	must.Equal(t, uint64(1), must.Get(before.Delta(after))(t)["b/conntrack_fill.changes"])
}

// A setting that cannot have an effect makes the mode unsupported, and the reason says what
// to do. Nothing of the mode is left.
func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		of   driver.Order
		want string
	}{
		"GRO of a veth with TSO":      {spec("netns/bridge", "gro", "on"), "add tso: off"},
		"TSO without checksums":       {spec("host", "tso", "on", "checksum", "off"), "requested on of eth0 tx-tcp"},
		"threads without NAPI":        {spec("host", "threaded_napi", "on"), "add gro: on"},
		"no bridge":                   {spec("host", "bridge_nf", "on"), "no namespace of the path has a bridge"},
		"more queues than the kernel": {spec("host", "queues", "256"), "eth0 in a can have"},
		"XPS with one queue":          {spec("host", "xps", "on"), "add queues: 2"},
		"a CPU that does not exist":   {spec("host", "rps", "4000"), "the kernel refuses it"}, // and in a user namespace any
		"a queue that nothing uses":   {spec("host", "txqueuelen", "100"), "add qdisc: pfifo_fast"},
		"translation without state":   {spec("netns/published", "tracking", "off"), "match each connection in b, which needs connection tracking"},
		"entries without tracking":    {spec("host", "conntrack_fill", "10"), "add tracking: on"},
		"BIG TCP in a tunnel":         {spec("netns/vxlan", "gso_max_size", "185000"), "the kernel refuses it"},
		"more entries than the table": {spec("netns/published", "conntrack_fill", "1000000"), "net.netfilter.nf_conntrack_max"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := netns.Driver{}.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), tt.of))
			if err == nil {
				_ = p.Close(t.Context())
			}
			if u, lacking := driver.AsUnsupported(err); !lacking || !strings.Contains(u.Reason, tt.want) {
				t.Errorf("got %v, want it to be unsupported: %s", err, tt.want)
			}
		})
	}
}

// The link of a lab with a rate is limited by its queueing discipline.
func TestRateIsKept(t *testing.T) {
	o := drivertest.SpecOn(drivertest.Spec(t, func(l *lab.Spec) { l.Rate = 1e9 }), spec("host", "qdisc", "pfifo_fast"))
	_, err := netns.Driver{}.Provision(t.Context(), o)
	if u, lacking := driver.AsUnsupported(err); !lacking || !strings.Contains(u.Reason, "limits its rate") {
		t.Errorf("got %v", err)
	}
}

// A path that no study could request is rejected, too.
func TestInvalidValue(t *testing.T) {
	_, err := netns.Driver{}.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), spec("host", "queues", "two")))
	if _, lacking := driver.AsUnsupported(err); err == nil || lacking || !strings.Contains(err.Error(), "a number from 1 to 256") {
		t.Errorf("got %v", err)
	}
}

// Every setting has a variant above.
func TestEverySettingIsTested(t *testing.T) {
	tested := map[string]bool{}
	for _, all := range []map[string]variant{offloads(), steering(), netfilter()} {
		for _, v := range all {
			for name := range v.of.With {
				tested[name] = true
			}
		}
	}
	for _, s := range setting.All() {
		must.True(t, tested[s.Name], "%s is not tested", s.Name)
	}
}
