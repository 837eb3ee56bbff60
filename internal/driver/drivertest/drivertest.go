// Package drivertest has the conformance tests that every driver's test file calls with its
// modes.
package drivertest

import (
	"context"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/subcommand"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/linuxnet/nstest"
	"tare/internal/result"
	"tare/internal/testneed"
	"tare/internal/testns"
	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/traffic/workloads"
)

// Main runs a test binary that is also its own agent and the init process of its engines:
// drivers start the running program in their sandboxes. Tests of an ordinary user run as
// root of a user namespace. Call it from TestMain.
func Main(m *testing.M) { mainOf(m.Run) }

// MainInNamespaces is Main for tests that list or remove what all runs of the machine have left, or
// whose engines would see those of other tests: as root they run in namespaces of their own.
func MainInNamespaces(m *testing.M) {
	testns.First()
	mainOf(func() int { return testns.Main(context.Background(), m.Run) })
}

// mainOf is Main, with what runs the tests.
func mainOf(tests func() int) {
	done, err := subcommand.Run(context.Background(), os.Args, "test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if done {
		os.Exit(0)
	}
	nstest.Enter()
	flag.Parse() // for Guard
	through := Guard(hangs)
	code := tests()
	through()
	os.Exit(code)
}

// hangs is the time limit of all tests of a package together, before it is scaled: with the factor that
// scripts/tests sets, `go test -timeout` is the shorter one.
const hangs = 20 * time.Minute

// NeedLab skips the test if no lab can be created, and says what is missing.
func NeedLab(t testing.TB) {
	t.Helper()
	if err := linuxnet.Try(); err != nil {
		t.Skipf("labs need root or unprivileged user namespaces: %v", err)
	}
}

// NeedEngine skips the test if no private engine can be started, and says what is missing.
func NeedEngine(t testing.TB) {
	t.Helper()
	NeedLab(t)
	if err := private.MissingRequirements(t.Context()); err != nil {
		t.Skipf("no private engine can be had (scripts/setup-tests installs what one needs): %v", err)
	}
	needStatic(t)
}

// needStatic skips the test if this test program needs shared libraries, which containers
// and guests lack.
func needStatic(t testing.TB) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Skip("containers and guests run this test program, which needs shared libraries here: set CGO_ENABLED=0, as `make test` does")
	}
}

// Claim reserves an address slot until the test ends.
func Claim(t testing.TB) lab.Claim {
	t.Helper()
	claim, err := lab.Standalone()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(claim.Release)
	return claim
}

// Spec describes a lab of a run that ends with the test.
func Spec(t testing.TB, change func(*lab.Spec)) lab.Spec {
	t.Helper()
	NeedLab(t)
	spec := lab.Spec{Claim: Claim(t), Label: "test", MTU: lab.DefaultMTU, Offload: true, Pin: linuxnet.RealRoot()}
	if change != nil {
		change(&spec)
	}
	return spec
}

// Lab creates a lab that ends with the test.
func Lab(t testing.TB, change func(*lab.Spec)) *lab.Lab {
	t.Helper()
	l, err := lab.Up(Spec(t, change))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("take down lab: %v", err)
		}
	})
	return l
}

// Setup is a provisioned mode with its agents.
type Setup struct {
	Path *driver.Path
	Lab  *lab.Lab // nil if the path has none
	Ends []Ends   // one for each pair
	// Grace is how long a trial may take beyond its window; 0 is the default. An emulated
	// CPU on a busy machine takes longer.
	Grace time.Duration
}

// Ends are the agents of one pair.
type Ends struct{ Client, Server *agent.Client }

// Provision builds a mode in its own lab and starts its agents.
func Provision(t testing.TB, d labdriver.Driver, mode string, change func(*lab.Spec)) *Setup {
	t.Helper()
	return ProvisionPairs(t, d, mode, 1, change)
}

// ProvisionPairs builds a mode with several pairs.
func ProvisionPairs(t testing.TB, d labdriver.Driver, mode string, pairs int, change func(*lab.Spec)) *Setup {
	t.Helper()
	return Build(t, d, ModeSpec(t, mode, pairs, change))
}

// ModeSpec specifies a mode in a lab of a run that ends with the test.
func ModeSpec(t testing.TB, mode string, pairs int, change func(*lab.Spec)) labdriver.ModeSpec {
	t.Helper()
	return SpecOn(Spec(t, change), driver.ModeSpec{Mode: mode, Pairs: pairs})
}

// SpecOn combines a specification with a lab.
func SpecOn(spec lab.Spec, o driver.ModeSpec) labdriver.ModeSpec {
	return labdriver.SpecOn(spec, o)
}

// Build builds a mode in a lab and starts its agents. They end with the test. A mode that is unsupported here is
// left to testneed.
func Build(t testing.TB, d labdriver.Driver, o labdriver.ModeSpec) *Setup {
	t.Helper()
	p, err := d.Provision(t.Context(), o)
	requireBuilt(t, o.ModeSpec, err, func(probed driver.ModeSpec) error {
		return d.Probe(t.Context(), labdriver.ModeSpec{ModeSpec: probed})
	})
	return StartAgents(t, p, o.ModeSpec)
}

// BuildOn is Build for hosts that are not those of a lab.
func BuildOn(t testing.TB, d driver.Driver, o driver.ModeSpec) *Setup {
	t.Helper()
	p, err := d.Provision(t.Context(), o)
	requireBuilt(t, o, err, func(probed driver.ModeSpec) error { return d.Probe(t.Context(), probed) })
	return StartAgents(t, p, o)
}

// requireBuilt ends the test if a mode could not be built because of err. As in a run, the mode is unsupported if
// err or then its probe says so, and has failed otherwise.
func requireBuilt(t testing.TB, o driver.ModeSpec, err error, probe func(driver.ModeSpec) error) {
	t.Helper()
	if err == nil {
		return
	}
	u, lacking := driver.AsUnsupported(err)
	if !lacking {
		u, lacking = driver.AsUnsupported(probe(driver.ModeSpec{Mode: o.Mode}))
	}
	if lacking {
		testneed.Unsupported(t, o.Mode, u.Reason)
	}
	t.Fatalf("provision %s with %d pairs: %v", o.Mode, o.Pairs, err)
}

// StartAgents starts the agents of a path that was built. They end with the test.
func StartAgents(t testing.TB, p *driver.Path, o driver.ModeSpec) *Setup {
	t.Helper()
	ctx, mode, pairs := t.Context(), o.Mode, o.Pairs
	t.Cleanup(func() {
		for range 2 { // idempotent
			if err := p.Close(context.Background()); err != nil {
				t.Errorf("close %s: %v", mode, err)
			}
		}
	})
	s := &Setup{Path: p}
	if on, ok := p.Internal.(interface{ Lab() *lab.Lab }); ok {
		s.Lab = on.Lab()
	}
	if got := len(p.Pairs); got != pairs {
		t.Fatalf("%s has %d pairs of %d", mode, got, pairs)
	}
	start := func(end driver.Endpoint) *agent.Client {
		c, err := agent.Start(ctx, end.Launcher, o.Run, end.Name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Errorf("end agent: %v", err)
			}
		})
		return c
	}
	for _, pair := range p.Pairs {
		s.Ends = append(s.Ends, Ends{start(pair.Client), start(pair.Server)})
	}
	return s
}

// Params is a short trial of a workload, unpinned, at a rate that any machine can sustain
// if the workload has one.
func Params(kind string) traffic.Params {
	p := traffic.Params{
		Kind: kind, Token: "0123456789abcdef", CPU: -1, Streams: 1, WriteSize: 64 << 10, Congestion: "reno",
		RequestSize: 1, ResponseSize: 1, SendBuffer: -1, ReceiveBuffer: -1,
		Warmup: 20 * time.Millisecond, Duration: 150 * time.Millisecond, // two intervals of a series
	}
	switch kind {
	case "udp_stream":
		p.PayloadSize, p.Rate, p.Burst, p.ReceiveBuffer = 1200, 50e6, 64, 4<<20
	case "udp_rr":
		p.RequestSize, p.ResponseSize = 64, 64
	}
	return p
}

// Reports are the reports of a pair's endpoints on a trial.
type Reports struct{ Client, Server traffic.Report }

// Trial runs a trial over the first pair and returns the result of verifying its path.
func (s *Setup) Trial(t testing.TB, p traffic.Params, ipv6 bool) (client, server traffic.Report, proof error) {
	t.Helper()
	all, proof := s.TrialPairs(t, p, ipv6, 1)
	return all[0].Client, all[0].Server, proof
}

// longest limits the window of a trial that is repeated because a busy machine carried too
// little.
const longest = 10 * time.Second

// TrialPairs runs a trial over the first n pairs at once. If it carried too little to be
// verified, it is logged and repeated with twice the window, up to longest and Grace; if
// the last attempt carried too little, too, proof is driver.ErrTooLittleTraffic.
func (s *Setup) TrialPairs(t testing.TB, p traffic.Params, ipv6 bool, n int) (all []Reports, proof error) {
	t.Helper()
	for {
		all, proof = s.trialPairs(t, p, ipv6, n)
		if !errors.Is(proof, driver.ErrTooLittleTraffic) {
			return all, proof
		}
		if 2*p.Duration > longest+s.Grace {
			t.Logf("%s: a window of %s, the longest of at most %s, is too short: %v", p.Kind, p.Duration, longest+s.Grace, proof)
			return all, proof
		}
		p.Duration *= 2
		t.Logf("%s: a window of %s, of at most %s, because the one before was too short: %v", p.Kind, p.Duration, longest+s.Grace, proof)
	}
}

func (s *Setup) trialPairs(t testing.TB, p traffic.Params, ipv6 bool, n int) (all []Reports, proof error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timelimit.Scaled(30*time.Second)+p.Duration+s.Grace)
	defer cancel()
	if s.Grace > 0 {
		p.Limit = p.Warmup + p.Duration + s.Grace
	}
	before := s.Snapshot(t)
	trials := make([]*agent.Trial, n)
	for i := range trials {
		listen, dial, err := s.Path.Pairs[i].Server.Reach(ipv6)
		if err != nil {
			t.Fatal(err)
		}
		client, server := p, p
		client.Address, server.Address = dial.String(), listen.String()
		if trials[i], err = agent.Begin(ctx, s.Ends[i].Client, s.Ends[i].Server, client, server); err != nil {
			t.Fatal(err)
		}
	}
	all = make([]Reports, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i, trial := range trials {
		wg.Go(func() { all[i].Client, all[i].Server, errs[i] = trial.Run(ctx) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%s: %v", p.Kind, err)
	}
	var carried []driver.Carried
	for _, r := range all {
		carried = append(carried, driver.CarriedBy(r.Client, r.Server))
	}
	return all, s.Proof(t, before, carried)
}

// reachTimeout limits how long endpoints may take to reach each other after a test has
// interrupted their path. A device that was just set up carries nothing until the kernel's
// link watch has run, which waits for all network changes elsewhere on the machine.
func reachTimeout() time.Duration { return timelimit.Scaled(20 * time.Second) }

// WaitReachable waits until the endpoints of the first pair reach each other again.
func (s *Setup) WaitReachable(t testing.TB) {
	t.Helper()
	listen, dial, err := s.Path.Pairs[0].Server.Reach(false)
	if err == nil {
		_, err = agent.CheckReachability(t.Context(), s.Ends[0].Client, s.Ends[0].Server, "tcp", listen, dial, reachTimeout()+s.Grace)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Snapshot reads the counters before a trial.
func (s *Setup) Snapshot(t testing.TB) driver.Counters {
	t.Helper()
	if err := s.Path.FlushConnections(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := s.Path.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return before
}

// Proof verifies the path for what was carried since before.
func (s *Setup) Proof(t testing.TB, before driver.Counters, carried []driver.Carried) error {
	t.Helper()
	after, err := s.Path.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Path.Prove(before, after, carried)
}

// Conformance checks every mode that can be built here: endpoints, verification for each
// workload, direction and address family, and the topology. Modes that cannot be built must
// return an Unsupported error.
func Conformance(t *testing.T, d labdriver.Driver) {
	NeedLab(t)
	for _, m := range d.Modes() {
		t.Run(m.ID, func(t *testing.T) {
			s := setUpOrUnsupported(t, d, ModeSpec(t, m.ID, 1, nil))
			if s == nil {
				return
			}
			s.CheckTopology(t)
			s.CheckGolden(t, m.ID)
			for _, w := range patternsOf(m) {
				for _, ipv6 := range []bool{false, true} {
					if _, _, err := s.Path.Pairs[0].Server.Reach(ipv6); err != nil && ipv6 {
						continue // the kernel or the engine does not support it
					}
					for _, reverse := range []bool{false, true} {
						s.conforms(t, w, ipv6, reverse)
					}
				}
			}
		})
	}
}

// Known lists known failures of a mode that are not caused by this program.
type Known struct {
	SkippedWorkloads []string // workloads that fail on the mode
}

// ConformanceOnce is Conformance for modes that are expensive to set up. It runs one trial
// of each workload, alternating direction and, where available, address family. It leaves
// the mode set up.
func ConformanceOnce(t *testing.T, d labdriver.Driver, o labdriver.ModeSpec, k Known) *Setup {
	t.Helper()
	s := Build(t, d, o)
	s.Grace = 2 * time.Minute
	s.CheckTopology(t)
	s.CheckGolden(t, o.Mode)
	_, _, noIPv6 := s.Path.Pairs[0].Server.Reach(true)
	for i, w := range Patterns() {
		if !slices.Contains(k.SkippedWorkloads, w.Spec().Kind) {
			s.conforms(t, w, i%2 == 1 && noIPv6 == nil, i%2 == 1)
		}
	}
	return s
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

// setUpOrUnsupported builds the mode, or returns nil if it cannot be built here. Then Probe
// must say why, as it is called when a run could not build a mode.
func setUpOrUnsupported(t *testing.T, d labdriver.Driver, o labdriver.ModeSpec) *Setup {
	t.Helper()
	p, err := d.Provision(t.Context(), o)
	if err == nil {
		return StartAgents(t, p, o.ModeSpec)
	}
	probed := d.Probe(t.Context(), labdriver.ModeSpec{ModeSpec: driver.ModeSpec{Mode: o.Mode}})
	if u, lacking := driver.AsUnsupported(probed); !lacking || u.Reason == "" {
		t.Fatalf("provision: %v, though the probe says: %v", err, probed)
	}
	t.Logf("%v", probed)
	return nil
}

// Patterns lists the workloads with trials of their own. Derived workloads use the trials
// of another and have no distinct traffic.
func Patterns() []traffic.Workload {
	return slices.DeleteFunc(workloads.All(), func(w traffic.Workload) bool { return w.Spec().MadeOf != "" })
}

// patternsOf lists those that the mode can carry.
func patternsOf(m driver.Mode) []traffic.Workload {
	return slices.DeleteFunc(Patterns(), func(w traffic.Workload) bool { return m.TCPOnly != "" && w.Spec().Datagrams })
}

// conforms runs one trial and checks its verification and metrics.
func (s *Setup) conforms(t *testing.T, w traffic.Workload, ipv6, reverse bool) {
	t.Helper()
	p := Params(w.Spec().Kind)
	p.Reverse = reverse
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

// ConformancePairs checks a mode with two pairs: both reach each other at the same time,
// each is verified, one alone is verified too, and the traffic of one pair is never taken
// for that of both.
func ConformancePairs(t *testing.T, d labdriver.Driver) {
	NeedLab(t)
	for _, m := range d.Modes() {
		t.Run(m.ID, func(t *testing.T) {
			s := setUpOrUnsupported(t, d, ModeSpec(t, m.ID, 2, nil))
			if s == nil {
				return
			}
			s.CheckTopology(t)
			for _, w := range patternsOf(m) {
				p := Params(w.Spec().Kind)
				all, err := s.TrialPairs(t, p, false, 2)
				if err != nil {
					t.Errorf("%s, both pairs: %v", p.Kind, err)
				}
				if _, _, err := s.Trial(t, p, false); err != nil {
					t.Errorf("%s, one pair alone: %v", p.Kind, err)
				}
				for i, r := range all {
					if r.Client.Sent+r.Server.Sent == 0 {
						t.Errorf("%s: pair %d carried nothing", p.Kind, i+1)
					}
				}
			}
			before := s.Snapshot(t)
			client, server, _ := s.Trial(t, Params("tcp_stream"), false)
			one := driver.CarriedBy(client, server)
			if s.Proof(t, before, []driver.Carried{one, one}) == nil {
				t.Error("the traffic of one pair passed as that of two")
			}
		})
	}
}
