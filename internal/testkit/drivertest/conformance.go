package drivertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/studytest"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// ConformancePairs checks two pairs of every mode of a driver, see Setup.ConformsPairs, and two clients of one server.
func ConformancePairs(t *testing.T, d labdriver.Driver) {
	NeedLab(t)
	for _, m := range d.Modes() {
		t.Run(m.ID+" with two pairs", func(t *testing.T) {
			s := Build(t, d, Order(t, m.ID, 2, nil))
			s.ConformsPairs(t)
			s.ConformsFanIn(t, "http", false)
		})
	}
}

// Only is a driver with some of its modes.
func Only(d labdriver.Driver, modes ...string) labdriver.Driver { return some{d, modes} }

type some struct {
	labdriver.Driver
	modes []string
}

func (d some) Modes() []driver.Mode {
	return slices.DeleteFunc(d.Driver.Modes(), func(m driver.Mode) bool { return !slices.Contains(d.modes, m.ID) })
}

// conformance are the trials of a mode: each workload, and in as few trials as possible both
// directions over both address families for TCP and for UDP.
func conformance() []variation {
	return []variation{
		{"tcp_stream", false, false}, {"tcp_rr", true, true}, {"tcp_crr", true, false}, {"tcp_dns", false, true}, {"http", true, false}, {"http2", false, false}, {"grpc", true, false},
		{"udp_stream", true, false}, {"udp_stream", false, true}, {"udp_rr", true, true}, {"udp_dns", false, false},
	}
}

// variation is a trial of a workload in a direction, over an address family.
type variation struct {
	kind          string
	ipv6, reverse bool
}

// Conforms checks the topology of a mode, its golden path, and the trials of conformance except
// those of skipped workloads; where the path has no IPv6, they all use IPv4. Of tcp_dns and the workloads of HTTP, which to a mode are
// exchanges, it checks one if the mode carries them all: others of the driver have the others. Of a mode with several
// pairs, it checks what ConformsPairs and ConformsFanIn do, too.
func (s *Setup) Conforms(t *testing.T, m driver.Mode, skipped ...string) {
	t.Helper()
	s.CheckTopology(t)
	s.CheckGolden(t, m.ID)
	s.CheckProbe(t)
	if in, own := s.Path.Internal.(interface{ Lab() *lab.Lab }); own && !in.Lab().Split() {
		for _, event := range []string{labdriver.LinkDown, driver.RouteChange, driver.LinkLost} {
			if _, err := s.Path.EventNamed(event); err != nil && slices.Contains(m.Events, event) {
				t.Errorf("the mode has an event that its path lacks: %v", err)
			}
		}
	}
	_, _, noIPv6 := s.Path.Pairs[0].Server.Reach(true)
	left := slices.DeleteFunc([]string{"tcp_dns", "http", "http2", "grpc"}, func(kind string) bool { return !carries(t, m, kind) })
	if sum := 0; len(left) == 4 {
		for _, b := range []byte(m.ID) {
			sum += int(b)
		}
		left = slices.Delete(left, sum%4, sum%4+1)
		skipped = append(left, skipped...)
	}
	for _, v := range conformance() {
		w, err := workloads.Named(v.kind)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(skipped, v.kind) && carries(t, m, v.kind) {
			s.conforms(t, w, v.ipv6 && noIPv6 == nil, v.reverse)
		}
	}
	if len(s.Path.Pairs) > 1 {
		kinds := slices.DeleteFunc([]string{"tcp_stream", "http"}, func(kind string) bool { return !carries(t, m, kind) })
		s.conformPairs(t, kinds[0])
		s.ConformsFanIn(t, "http", false)
	}
}

// CheckProbe requires that the probe of a path without a fault, if it has one, finds none.
func (s *Setup) CheckProbe(t testing.TB) {
	t.Helper()
	if s.Path.Probe == nil {
		return
	}
	began := time.Now()
	facts, warnings := s.Path.Probe(t.Context(), s.Ends[0].Client, s.Ends[0].Server)
	t.Logf("probed in %s: %v", time.Since(began), facts)
	for _, w := range warnings {
		t.Errorf("the probe of a path without a fault: %s: %s", w.Code, w.Text)
	}
}

// carries reports whether a mode without settings carries a workload of a kind.
func carries(t testing.TB, m driver.Mode, kind string) bool {
	t.Helper()
	w, err := workloads.Named(kind)
	if err != nil {
		t.Fatal(err)
	}
	return m.WhyNot(study.Workload{Kind: kind}, w.Spec(), nil) == ""
}

// ConformsPairs checks that the first two pairs carry a trial at the same time, and that the traffic of
// one does not pass as that of two.
func (s *Setup) ConformsPairs(t *testing.T) {
	t.Helper()
	s.conformPairs(t, "tcp_stream")
}

// conformPairs is ConformsPairs with a workload of a kind.
func (s *Setup) conformPairs(t *testing.T, kind string) {
	t.Helper()
	all, err := s.TrialPairs(t, Params(kind), false, 2)
	if err != nil {
		t.Errorf("both pairs: %v", err)
	}
	for i, r := range all {
		if r.Client.Sent+r.Server.Sent == 0 {
			t.Errorf("pair %d carried nothing", i+1)
		}
	}
	before := s.Snapshot(t)
	client, server, _ := s.Trial(t, Params(kind), false)
	one := driver.CarriedBy(client, server)
	if s.Proof(t, before, []driver.Carried{one, one}) == nil {
		t.Error("the traffic of one pair passed as that of two")
	}
}

// CheckTopology checks that the topology is a chain from client to server, with counters
// that verify it.
func (s *Setup) CheckTopology(t testing.TB) {
	t.Helper()
	top, err := s.Path.Topology()
	if err != nil {
		t.Fatal(err)
	}
	if len(top.Nodes) < 3 || len(top.Edges) != len(top.Nodes)-1 {
		t.Errorf("topology of %d nodes and %d edges is no chain", len(top.Nodes), len(top.Edges))
	}
	if !slices.ContainsFunc(top.Nodes, func(n result.Node) bool { return len(n.Counters) > 0 }) {
		t.Error("no step of the topology has a counter that proves it")
	}
}

// conforms runs one trial and checks its verification and metrics.
func (s *Setup) conforms(t *testing.T, w traffic.Workload, ipv6, reverse bool) {
	t.Helper()
	p := Params(w.Spec().Kind)
	p.Direction = studytest.Direction(reverse)
	name := fmt.Sprintf("%s, ipv6 %t, reverse %t", p.Kind, ipv6, reverse)
	client, server, err := s.Trial(t, p, ipv6)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	metrics, series := w.Metrics(p, client, server)
	for metric, v := range metrics {
		// So short a window may measure nothing on a busy machine.
		if _, known := result.MetricNamed(metric); !known || v < 0 {
			t.Errorf("%s: %s is %g", name, metric, v)
		}
	}
	if client.Received+server.Received == 0 {
		t.Errorf("%s: nothing was carried", name)
	}
	if len(series.Values) < 2 {
		t.Errorf("%s: %d intervals in %s or more", name, len(series.Values), p.Duration)
	}
}
