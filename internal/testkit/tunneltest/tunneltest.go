//go:build linux

// Package tunneltest has the tests for drivers of encrypted tunnels, in addition to package
// drivertest.
package tunneltest

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/tunnel"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/timelimit"
)

// Build builds a mode with one pair, or skips the test if the probe says why it cannot be
// built here.
func Build(t *testing.T, d labdriver.Driver, mode string, mtu int) (*drivertest.Setup, *tunnel.Path) {
	t.Helper()
	drivertest.NeedLab(t)
	began := time.Now()
	drivertest.NeedMode(t, d, labdriver.Order{Order: driver.Order{Mode: mode}})
	probed := time.Since(began)
	began = time.Now()
	s := drivertest.Build(t, d, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: mode, Pairs: 1, MTU: mtu}))
	t.Logf("%s: probed and taken down in %v, provisioned up to both agents' handshake in %v", mode, probed, time.Since(began))
	return s, s.Path.Internal.(*tunnel.Path)
}

// Shortcuts opens routes that bypass the tunnel while traffic continues, and expects each
// path to be void. clear opens the plaintext route over the underlay; RouteInClear is
// enough if the tunnel has no rules besides routes. wants must be part of the error.
func Shortcuts(t *testing.T, d labdriver.Driver, mode string, clear func(*tunnel.Path) error, wants string) {
	for _, way := range []struct {
		name string
		open func(*tunnel.Path) error
		want string
	}{
		{"a cable between the sandboxes", cable, "counter "},
		{"in clear over the underlay", clear, wants},
	} {
		t.Run(way.name, func(t *testing.T) {
			s, p := Build(t, d, mode, 0)
			if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
				t.Fatalf("before the shortcut: %v", err)
			}
			if err := way.open(p); err != nil {
				t.Fatal(err)
			}
			s.WaitReachable(t)
			for _, kind := range []string{"tcp_stream", "udp_stream"} {
				_, _, err := s.Trial(t, drivertest.Params(kind), false)
				if err == nil || !strings.Contains(err.Error(), way.want) {
					t.Errorf("%s over the shortcut: got %v, want the proof to fail on %s", kind, err, way.want)
				}
			}
		})
	}
}

// cable connects the sandboxes of the first pair directly and routes the server's address
// over that link.
func cable(p *tunnel.Path) error {
	client, server := p.PairNamespaces(1)
	to := p.Pairs()[0].Server.Dial[0].Addr()
	return errors.Join(
		client.Links().Veth(linuxnet.Device{Name: "cable0"}, server, linuxnet.Device{Name: "cable1"}),
		client.Links().Up("cable0"), server.Links().Up("cable1"),
		client.Routes().Address("cable0", netip.MustParsePrefix("198.19.255.1/24")),
		server.Routes().Address("cable1", netip.MustParsePrefix("198.19.255.2/24")),
		client.Routes().Route(netip.PrefixFrom(to, 32), netip.MustParseAddr("198.19.255.2"), "cable0"),
	)
}

// RouteInClear routes the sandboxes' subnets over the underlay unencrypted, with longer
// prefixes than the tunnel's routes.
func RouteInClear(p *tunnel.Path) error {
	var errs []error
	for _, s := range p.Sides() {
		for _, half := range halves(p.Other(s).Subnets[0]) {
			errs = append(errs, s.NS.Routes().Route(half, p.Other(s).Host.Addr[0], lab.Underlay))
		}
	}
	return errors.Join(errs...)
}

// halves are the two halves of an IPv4 prefix.
func halves(p netip.Prefix) []netip.Prefix {
	b := p.Addr().As4()
	b[3] |= 128
	return []netip.Prefix{netip.PrefixFrom(p.Addr(), p.Bits()+1), netip.PrefixFrom(netip.AddrFrom4(b), p.Bits()+1)}
}

// CheckTunnelDown takes the tunnel down with down. It expects that nothing arrives, that
// nothing leaves unencrypted, even if the hosts have a default route to each other, and
// that the path's error says which process has exited.
func CheckTunnelDown(t *testing.T, d labdriver.Driver, mode string, down func(*testing.T, *tunnel.Path)) {
	s, p := Build(t, d, mode, 0)
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
		t.Fatal(err)
	}
	for _, side := range p.Sides() {
		if err := side.NS.Routes().DefaultRoute(p.Other(side).Host.Addr[0]); err != nil {
			t.Fatal(err)
		}
	}
	down(t, p)
	client, server := p.PairNamespaces(1)
	to := p.Pairs()[0].Server.Dial[0].Addr()
	in := socket(t, server, func() (*net.UDPConn, error) {
		return net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 0)))
	})
	out := socket(t, client, func() (*net.UDPConn, error) { return net.DialUDP("udp", nil, in.LocalAddr().(*net.UDPAddr)) })
	for range 20 {
		_, _ = out.Write(make([]byte, 1000)) // rejected or lost
		time.Sleep(time.Millisecond)
	}
	if err := in.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := in.Read(make([]byte, 2000)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes arrived without a tunnel: %v", n, err)
	}
	counts, err := p.Far.NS.Rules().IngressCounts("tare")
	if err != nil {
		t.Fatal(err)
	}
	if c := counts[linuxnet.CountDecrypted]; c.Packets > 0 {
		t.Errorf("%d packets crossed the underlay in clear", c.Packets)
	}
	if len(p.PIDs()) == 0 {
		return
	}
	if _, err := p.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("of a process that was killed the path says: %v", err)
	}
}

// CheckNoSecrets searches what others can read of the mode's processes for strings that
// look like a key: 43 characters or more without a slash.
func CheckNoSecrets(t *testing.T, p *tunnel.Path) {
	t.Helper()
	for _, pid := range p.PIDs() {
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune("\x00=, ", r) }) {
				if len(word) >= 43 && !strings.Contains(word, "/") {
					t.Errorf("%s of process %d has %q", file, pid, word)
				}
			}
		}
	}
}

// Kill kills the processes of the tunnel with SIGKILL.
func Kill(t *testing.T, p *tunnel.Path) {
	for _, pid := range p.PIDs() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	waitEnded(t, p)
}

// waitEnded waits until the processes have exited.
func waitEnded(t *testing.T, p *tunnel.Path) {
	t.Helper()
	for end := time.Now().Add(timelimit.Scaled(20 * time.Second)); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := p.Snapshot(t.Context()); err != nil {
			return
		}
	}
	t.Fatal("the processes have not ended")
}

func socket(t *testing.T, ns *linuxnet.NS, open func() (*net.UDPConn, error)) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	err := ns.Do(func() (err error) {
		c, err = open()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
