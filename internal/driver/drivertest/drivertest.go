// Package drivertest holds what every driver must do, as tests that a driver's
// own test file calls with its modes.
package drivertest

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/traffic"
)

// Main runs a test binary that is also its own agent: drivers start the running
// program in their sandboxes. An ordinary user's tests run as the root of a user
// namespace. Call it from TestMain.
func Main(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == agent.Command {
		if err := agent.Serve(context.Background(), os.Stdin, os.Stdout, "test"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	linuxnet.EndWithParent()
	if linuxnet.Try() != nil && !linuxnet.Inside() {
		code, err := linuxnet.Reexec(context.Background())
		if err == nil {
			os.Exit(code)
		}
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(m.Run())
}

// NeedLab skips the test where no lab can be made, and says what is lacking.
func NeedLab(t testing.TB) {
	t.Helper()
	if err := linuxnet.Try(); err != nil {
		t.Skipf("labs need root or unprivileged user namespaces: %v", err)
	}
}

// Lab makes a lab that ends with the test.
func Lab(t testing.TB, change func(*lab.Spec)) *lab.Lab {
	t.Helper()
	NeedLab(t)
	claim, err := lab.NewClaim()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(claim.Release)
	spec := lab.Spec{Claim: claim, Label: "test", MTU: lab.DefaultMTU, Offload: true, Pin: linuxnet.RealRoot()}
	if change != nil {
		change(&spec)
	}
	l, err := lab.Up(spec)
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

// Stand is a provisioned mode with its agents.
type Stand struct {
	Path           driver.Path
	Lab            *lab.Lab
	Client, Server *agent.Client
}

// Provision builds a mode on a lab of its own and starts its agents.
func Provision(t testing.TB, d driver.Driver, mode string, change func(*lab.Spec)) *Stand {
	t.Helper()
	l := Lab(t, change)
	ctx := t.Context()
	p, err := d.Provision(ctx, mode, l)
	if err != nil {
		t.Fatalf("provision %s: %v", mode, err)
	}
	t.Cleanup(func() {
		for range 2 { // idempotent
			if err := p.Close(context.Background()); err != nil {
				t.Errorf("close %s: %v", mode, err)
			}
		}
	})
	s := &Stand{Path: p, Lab: l}
	client, server := p.Ends()
	for _, a := range []struct {
		end driver.Endpoint
		at  **agent.Client
	}{{client, &s.Client}, {server, &s.Server}} {
		c, err := agent.Start(ctx, a.end.Launcher, l.Spec.Claim.ID, a.end.Name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Errorf("end agent: %v", err)
			}
		})
		*a.at = c
	}
	return s
}

// Params is a short trial of a workload, unpinned.
func Params(kind string) traffic.Params {
	return traffic.Params{
		Kind: kind, Token: "0123456789abcdef", CPU: -1, Streams: 1, WriteSize: 64 << 10, Congestion: "reno",
		SendBuffer: -1, ReceiveBuffer: -1, Warmup: 50 * time.Millisecond, Duration: 200 * time.Millisecond,
	}
}

// Trial runs a trial over the stand and returns the verdict of its proof.
func (s *Stand) Trial(t testing.TB, p traffic.Params, ipv6 bool) (client, server traffic.Report, proof error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, target := s.Path.Ends()
	listen, dial, err := target.Reach(ipv6)
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Path.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sp := p
	sp.Address = listen.String()
	port, err := s.Server.Listen(ctx, sp)
	if err != nil {
		t.Fatal(err)
	}
	p.Address = netip.AddrPortFrom(dial.Addr(), port).String()
	if client, err = s.Client.Dial(ctx, p); err != nil {
		t.Fatal(err)
	}
	if err = s.Server.Ended(ctx, client); err != nil {
		t.Fatal(err)
	}
	if server, err = s.Server.Report(ctx); err != nil {
		t.Fatal(err)
	}
	after, err := s.Path.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return client, server, s.Path.Prove(ctx, before, after, driver.CarriedBy(client, server))
}

// Conformance checks what the contract asks of every mode that can be built
// here: ends, a proof that holds for each workload, direction and family, and a
// topology. Modes that cannot be built must say why as an Unsupported error.
func Conformance(t *testing.T, d driver.Driver) {
	NeedLab(t)
	for _, m := range d.Modes() {
		t.Run(m.ID, func(t *testing.T) {
			if err := d.Probe(t.Context(), m.ID); err != nil {
				u, ok := driver.AsUnsupported(err)
				if !ok || u.Reason == "" {
					t.Fatalf("probe: %v", err)
				}
				t.Logf("%v", u)
				return
			}
			s := Provision(t, d, m.ID, nil)
			top, err := s.Path.Topology()
			if err != nil {
				t.Fatal(err)
			}
			if len(top.Nodes) < 3 || len(top.Edges) != len(top.Nodes)-1 {
				t.Errorf("topology of %d nodes and %d edges is no chain", len(top.Nodes), len(top.Edges))
			}
			for _, w := range traffic.All() {
				for _, ipv6 := range []bool{false, true} {
					if ipv6 && !s.Lab.IPv6 {
						continue
					}
					for _, reverse := range []bool{false, true} {
						p := Params(w.Spec().Kind)
						p.Reverse = reverse
						client, server, err := s.Trial(t, p, ipv6)
						if err != nil {
							t.Errorf("%s, ipv6 %t, reverse %t: %v", p.Kind, ipv6, reverse, err)
						}
						metrics, series := w.Metrics(p, client, server)
						for name, v := range metrics {
							if v <= 0 && name != "retransmits" {
								t.Errorf("%s, ipv6 %t, reverse %t: %s is %g", p.Kind, ipv6, reverse, name, v)
							}
						}
						if len(series.Values) != 2 {
							t.Errorf("%s: %d intervals in 0.2 s", p.Kind, len(series.Values))
						}
					}
				}
			}
		})
	}
}
