package machines_test

import (
	"context"
	"net/netip"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/machines"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/machine"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// onLab returns the hosts of a lab as two machines on which only programs can be started.
func onLab(l *lab.Lab, b machines.Named) *machines.Hosts {
	at := map[string]*linuxnet.NS{"left": l.A.NS, "right": l.B.NS}
	a := machines.Named{Name: "left"}
	b.Name = "right"
	return machines.NewHosts([2]machines.Named{a, b}, func(_ context.Context, _, name string, _ machine.Address) (*machine.Machine, error) {
		return &machine.Machine{Name: name, System: machine.System{OS: runtime.GOOS, Arch: runtime.GOARCH}, User: transport.Local{Start: at[name].Start}}, nil
	})
}

func opened(t *testing.T, h *machines.Hosts) *machines.Hosts {
	t.Helper()
	must.Do(t, h.Open(t.Context()))
	t.Cleanup(func() { must.Do(t, h.Close()) })
	return h
}

// The modes of machines carry both protocols in both directions and address families, with
// two pairs at once, and their proof holds.
func TestModes(t *testing.T) {
	drivertest.NeedLab(t)
	l := drivertest.Lab(t, nil)
	h := opened(t, onLab(l, machines.Named{}))
	if r := h.Route(); len(r) != 2 || r[0].From != l.A.Addr[0] || r[0].To != l.B.Addr[0] || r[1].To != l.B.Addr[1] {
		t.Errorf("route %+v; want between %s and %s", r, l.A.Addr, l.B.Addr)
	}
	if !h.SameMachine() {
		t.Error("two namespaces are not known as one machine")
	}
	d := machines.New(h)
	must.Do(t, d.Probe(t.Context(), driver.Order{Mode: machines.Host}))
	if _, lacks := driver.AsUnsupported(d.Probe(t.Context(), driver.Order{Mode: machines.Host, With: map[string]string{"gro": "off"}})); !lacks {
		t.Error("a setting of a machine is not unsupported")
	}
	for _, mode := range []string{machines.Host, machines.HostLocal} {
		t.Run(mode, func(t *testing.T) {
			s := drivertest.BuildOn(t, d, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: mode, Pairs: 2}).Order)
			s.CheckTopology(t)
			ports := []string{}
			for _, f := range s.Path.Facts {
				if f.Name == "server ports" {
					ports = append(ports, f.Value)
				}
			}
			if len(ports) != 1 || !strings.HasPrefix(ports[0], "53") {
				t.Errorf("ports %q in %+v", ports, s.Path.Facts)
			}
			for _, kind := range []string{"tcp_stream", "udp_stream"} {
				for _, ipv6 := range []bool{false, true} {
					p := drivertest.Params(kind)
					p.Direction = studytest.Direction(ipv6)
					if client, server, err := s.Trial(t, p, ipv6); err != nil || client.Sent+server.Sent == 0 {
						t.Errorf("%s, ipv6 %t: %v", kind, ipv6, err)
					}
				}
			}
			if _, err := s.TrialPairs(t, drivertest.Params("tcp_stream"), false, 2); err != nil {
				t.Errorf("two pairs: %v", err)
			}
			s.ConformsFanIn(t, "http", true)
			if err := s.Path.Lost(); err != nil {
				t.Errorf("lost: %v", err)
			}
		})
	}
}

// An address that the user names is used, and no other in its place.
func TestNamedAddress(t *testing.T) {
	drivertest.NeedLab(t)
	l := drivertest.Lab(t, nil)
	h := opened(t, onLab(l, machines.Named{Address: l.B.Addr[1]}))
	if !slices.ContainsFunc(h.Route(), func(f machines.Family) bool { return f.To == l.B.Addr[1] }) {
		t.Errorf("route %+v", h.Route())
	}
	none := netip.MustParseAddr("198.19.250.1")
	if err := onLab(l, machines.Named{Address: none}).Open(t.Context()); err == nil || !strings.Contains(err.Error(), none.String()) {
		t.Errorf("an address of nobody: %v", err)
	}
	if err := onLab(l, machines.Named{Address: l.A.Addr[0]}).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "both hosts are one machine") {
		t.Errorf("the first host's own address: %v", err)
	}
}

// What closes the path between two machines is named before anything is measured.
func TestClosedPath(t *testing.T) {
	drivertest.NeedLab(t)
	for name, c := range map[string]struct {
		ns    func(*lab.Lab) *linuxnet.NS
		rules string
		want  string
	}{
		"there":    {func(l *lab.Lab) *linuxnet.NS { return l.B.NS }, "meta l4proto { tcp, udp } drop", "are dropped before they arrive"},
		"back":     {func(l *lab.Lab) *linuxnet.NS { return l.A.NS }, "meta l4proto { tcp, udp } drop", "but the answers of host right are dropped on their way back"},
		"tcp only": {func(l *lab.Lab) *linuxnet.NS { return l.B.NS }, "meta l4proto tcp drop", "over TCP: datagrams"},
		"udp only": {func(l *lab.Lab) *linuxnet.NS { return l.B.NS }, "meta l4proto udp drop", "over UDP: TCP to"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := drivertest.Lab(t, nil)
			nft(t, c.ns(l), "table inet drops {\nchain in {\ntype filter hook input priority 0\n"+c.rules+"\n}\n}\n")
			err := onLab(l, machines.Named{}).Open(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v; want %q on one line", err, c.want)
			}
		})
	}
	t.Run("no route", func(t *testing.T) {
		l := drivertest.Lab(t, nil)
		run(t, l.A.NS, "", "ip", "addr", "flush", "dev", lab.Underlay)
		if err := onLab(l, machines.Named{}).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "no route from host left") {
			t.Errorf("%v", err)
		}
	})
}

func nft(t *testing.T, ns *linuxnet.NS, rules string) { run(t, ns, rules, "nft", "-f", "-") }

// run runs a program in a network namespace.
func run(t *testing.T, ns *linuxnet.NS, input, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var said strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &said
	must.Do(t, ns.Start(cmd))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v: %s", program, err, &said)
	}
}

// The facts of a path name its addresses.
func TestFacts(t *testing.T) {
	drivertest.NeedLab(t)
	l := drivertest.Lab(t, nil)
	d := machines.New(opened(t, onLab(l, machines.Named{})))
	s := drivertest.BuildOn(t, d, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: machines.Host, Pairs: 1}).Order)
	for _, at := range l.B.Addr {
		if !slices.Contains(s.Path.Facts, result.Fact{Name: "server address", Value: at.String()}) {
			t.Errorf("no %s in %+v", at, s.Path.Facts)
		}
	}
}
