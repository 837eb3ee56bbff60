// Package drivertest has the conformance tests that every driver's test file calls with its
// modes.
package drivertest

import (
	"context"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/subcommand"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/loopback"
	"tare/internal/testkit/nstest"
	"tare/internal/testkit/testneed"
	"tare/internal/testkit/testns"
	"tare/internal/timelimit"
	"tare/internal/traffic"
)

// Main runs a test binary that is also its own agent and the init process of its engines:
// drivers start the running program in their sandboxes. Tests of an ordinary user run as
// root of a user namespace. Call it from TestMain.
func Main(m *testing.M) { mainOf(m.Run) }

// MainWithoutLeaks is Main for tests that must not leave a goroutine behind.
func MainWithoutLeaks(m *testing.M) {
	mainOf(func() int {
		ours := goleak.IgnoreCurrent()
		code := m.Run()
		if err := goleak.Find(ours); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	})
}

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

// NeedLab is for tests that create a lab; see testneed.
func NeedLab(t testing.TB) {
	t.Helper()
	testneed.NotShort(t)
	if err := linuxnet.Try(); err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
}

// NeedRoot is for tests that need the rights of the machine's root; see testneed.
func NeedRoot(t testing.TB, why string) {
	t.Helper()
	if !linuxnet.RealRoot() {
		testneed.Missing(t, testneed.Root, why)
	}
}

// NeedEngine is for tests that start a private engine; see testneed.
func NeedEngine(t testing.TB) {
	t.Helper()
	NeedLab(t)
	if err := private.MissingRequirements(t.Context()); err != nil {
		testneed.Missing(t, testneed.Engine, err)
	}
	needStatic(t)
}

// needStatic is for tests that run this test program in containers and guests, which have no
// shared libraries; see testneed.
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
		testneed.Missing(t, testneed.Static, "this test program needs shared libraries: set CGO_ENABLED=0, as `make test` does")
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
	// Rate is that of tcp_stream, in bit/s; 0 is as fast as the path accepts data.
	Rate quantity.Load
}

// paceOf is the rate of tcp_stream in a mode, in bit/s; 0 is as fast as it goes. Behind slirp4netns, pasta and passt no
// window fills at it. A stream that fills one may stall: Debian 12's passt was seen to acknowledge nothing for 80 s, and
// it resets a connection on which a guest acknowledges nothing for 8 s; of slirp4netns it is known
// (https://github.com/rootless-containers/slirp4netns/issues/302). An emulated guest receives 55 Mbit/s from passt.
func paceOf(mode string) quantity.Load {
	switch {
	case strings.Contains(mode, "rootless"):
		return 100e6
	case strings.Contains(mode, "passt"):
		return 10e6
	}
	return 0
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
	return Build(t, d, Order(t, mode, pairs, change))
}

// Order specifies a mode in a lab of a run that ends with the test.
func Order(t testing.TB, mode string, pairs int, change func(*lab.Spec)) labdriver.Order {
	t.Helper()
	return SpecOn(Spec(t, change), driver.Order{Mode: mode, Pairs: pairs})
}

// SpecOn combines a specification with a lab.
func SpecOn(spec lab.Spec, o driver.Order) labdriver.Order {
	return labdriver.SpecOn(spec, o)
}

// Build builds a mode in a lab and starts its agents. They end with the test. If the mode cannot be
// built here, Probe must say why, as it is called when a run could not build a mode; see NeedMode. A driver that
// times the set-up of the mode must have told when the first pair existed.
func Build(t testing.TB, d labdriver.Driver, o labdriver.Order) *Setup {
	t.Helper()
	timed := slices.ContainsFunc(d.Modes(), func(m driver.Mode) bool { return m.TimesSetup && study.Fits(m.ID, o.Mode) }) && o.Clock == nil
	if timed {
		o.Clock = &driver.SetupClock{OnPair: func(client, server driver.InStack, listen, dial []netip.AddrPort) {
			if (client == nil || server == nil) && o.Engine.Runtime == "" || len(listen) == 0 || len(listen) != len(dial) {
				t.Errorf("%s has no sockets for its first pair: client %t, server %t, listen %v, dial %v", o.Mode, client != nil, server != nil, listen, dial)
			}
		}}
	}
	p, err := d.Provision(t.Context(), o)
	if err != nil {
		t.Logf("provision %s with %d pairs: %v", o.Mode, o.Pairs, err)
		NeedMode(t, d, o)
		t.Fatal("the probe finds nothing missing")
	}
	if timed {
		if at, ok := o.Clock.Times(); !ok || at.Exists.Before(at.Begun) || at.Both.Before(at.Exists) || at.Paired.Before(at.Both) {
			t.Errorf("the set-up of %s: %+v, known: %t", o.Mode, at, ok)
		}
	}
	return StartAgents(t, p, o.Order)
}

// NeedMode is for tests of a mode that the machine may lack, by what Probe says; see testneed.
func NeedMode(t testing.TB, d labdriver.Driver, o labdriver.Order) {
	t.Helper()
	err := d.Probe(t.Context(), labdriver.Order{Order: o.Order})
	if u, lacking := driver.AsUnsupported(err); lacking && u.Reason != "" {
		testneed.Unsupported(t, o.Mode, u.Reason)
	}
	if err != nil {
		t.Fatalf("probe: %v", err)
	}
}

// BuildOn is Build for hosts that are not those of a lab.
func BuildOn(t testing.TB, d driver.Driver, o driver.Order) *Setup {
	t.Helper()
	p, err := d.Provision(t.Context(), o)
	if u, lacking := driver.AsUnsupported(err); lacking {
		testneed.Unsupported(t, o.Mode, u.Reason)
	}
	if err != nil {
		t.Fatalf("provision %s with %d pairs: %v", o.Mode, o.Pairs, err)
	}
	return StartAgents(t, p, o)
}

// StartAgents starts the agents of a path that was built. They end with the test.
func StartAgents(t testing.TB, p *driver.Path, o driver.Order) *Setup {
	t.Helper()
	ctx, mode, pairs := t.Context(), o.Mode, o.Pairs
	t.Cleanup(func() {
		for range 2 { // idempotent
			if err := p.Close(context.Background()); err != nil {
				t.Errorf("close %s: %v", mode, err)
			}
		}
	})
	s := &Setup{Path: p, Rate: paceOf(mode)}
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
// if the workload has one, with exchanges of which few are enough for the proof.
func Params(kind string) traffic.Params {
	p := traffic.Params{
		Workload: study.Workload{
			Kind: kind, Streams: 1, WriteSize: 64 << 10, Congestion: "reno", RequestSize: 1, ResponseSize: 1,
			SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
		},
		Token: loopback.NewToken(), CPU: -1, Warmup: 20 * time.Millisecond, Duration: 150 * time.Millisecond,
	}
	switch kind {
	case "udp_stream":
		p.PayloadSize, p.Rate, p.Burst, p.ReceiveBuffer = 1200, 50e6, 64, quantity.Buffer(4<<20)
	case "udp_rr":
		p.RequestSize, p.ResponseSize = 1000, 1000
	case "tcp_rr", "tcp_crr", "http", "http2", "grpc":
		p.RequestSize, p.ResponseSize = 1024, 1024
		if kind == "http2" {
			p.Streams = 4
		}
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
func longest() time.Duration { return timelimit.Scaled(10 * time.Second) }

// TrialPairs runs a trial over the first n pairs at once. If it carried too little to be
// verified, it is logged and repeated with twice the window, up to longest and Grace; if
// the last attempt carried too little, too, proof is driver.ErrTooLittleTraffic.
func (s *Setup) TrialPairs(t testing.TB, p traffic.Params, ipv6 bool, n int) (all []Reports, proof error) {
	t.Helper()
	if p.Kind == "tcp_stream" && p.Rate == 0 {
		p.Rate = s.Rate
	}
	for {
		all, proof = s.trialPairs(t, p, ipv6, n)
		if !errors.Is(proof, driver.ErrTooLittleTraffic) {
			return all, proof
		}
		if 2*p.Duration > longest()+s.Grace {
			t.Logf("%s: a window of %s, the longest of at most %s, is too short: %v", p.Kind, p.Duration, longest()+s.Grace, proof)
			return all, proof
		}
		p.Duration *= 2
		t.Logf("%s: a window of %s, of at most %s, because the one before was too short: %v", p.Kind, p.Duration, longest()+s.Grace, proof)
	}
}

func (s *Setup) trialPairs(t testing.TB, p traffic.Params, ipv6 bool, n int) (all []Reports, proof error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timelimit.Scaled(30*time.Second)+p.Duration+s.Grace)
	defer cancel()
	if s.Grace > 0 {
		p.Limit = p.Warmup + p.Duration + s.Grace
	}
	p.Token = loopback.NewToken()
	before := s.Snapshot(t)
	trials := make([]*agent.Trial, n)
	for i := range trials {
		listen, dial, err := s.Path.Pairs[i].Server.Reach(ipv6)
		if err != nil {
			t.Fatal(err)
		}
		client, server := p, p
		client.Address, server.Address = dial.String(), listen.String()
		client.Host, server.Host = s.Path.Pairs[i].Server.HostFor(p.Kind), s.Path.Pairs[i].Server.HostFor(p.Kind)
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
