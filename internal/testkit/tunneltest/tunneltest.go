//go:build linux

// Package tunneltest has the tests for drivers of encrypted tunnels, in addition to package
// drivertest.
package tunneltest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// Setup is a tunnel that is set up, with its agents.
type Setup struct {
	*drivertest.Setup
	path *tunnel.Path
}

// Build builds a mode with one pair, or skips the test if the probe says why it cannot be
// built here.
func Build(t *testing.T, d labdriver.Driver, mode string, mtu int) Setup {
	t.Helper()
	s := drivertest.Build(t, d, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: mode, Pairs: 1, MTU: mtu}))
	return Setup{s, s.Path.Internal.(*tunnel.Path)}
}

// Case is what the tests need to know of a tunnel beyond the row of its mode.
type Case struct {
	Mode string
	// Clear opens a way in clear over the underlay; nil is RouteInClear, which is enough if the tunnel has no
	// rules besides routes. Seen must be in the error of the proof then.
	Clear func(*tunnel.Path) error
	Seen  string
	// Device is the tunnel's on both hosts; empty if it has none.
	Device string
	// Outlives means that the tunnel continues without its processes.
	Outlives bool
	// Facts are regular expressions of facts of the mode, by their names.
	Facts map[string]string
	// Built checks what else must hold of a path that is set up. It may be nil.
	Built func(*testing.T, *tunnel.Path)
}

// Check is the tests of a tunnel: what bypasses it in clear makes the path void; without it nothing passes,
// and nothing leaves in clear; its facts and its MTU are the requested ones, and no key is readable; an MTU
// without room for its headers is refused; and a killed run takes its processes with it. The test is skipped
// if the mode cannot be built here. TestMain must call drivertest.MainOf.
func Check(t *testing.T, d labdriver.Driver, c Case) {
	drivertest.NeedLab(t)
	drivertest.NeedMode(t, d, labdriver.Order{Order: driver.Order{Mode: c.Mode}})
	modes := d.Modes()
	m := modes[slices.IndexFunc(modes, func(m driver.Mode) bool { return m.ID == c.Mode })]
	t.Run("in clear over the underlay", func(t *testing.T) { c.inClear(t, d) })
	if !c.Outlives {
		t.Run("down", func(t *testing.T) { c.down(t, d) })
	}
	t.Run("facts and secrets", func(t *testing.T) { c.described(t, d) })
	t.Run("an MTU without room", func(t *testing.T) {
		most := lab.DefaultMTU - m.Headers
		if m.MaxMTU > 0 {
			most = min(most, m.MaxMTU)
		}
		for _, mtu := range []int{most + 1, lab.MinMTU - 1} {
			_, err := d.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: c.Mode, Pairs: 1, MTU: mtu}))
			must.FailLine(t, fmt.Sprintf("MTU %d", mtu), err, fmt.Sprintf("use %d to %d", lab.MinMTU, most))
		}
	})
	if p := Build(t, d, c.Mode, 0); len(p.path.PIDs()) > 0 {
		t.Run("killed", func(t *testing.T) { drivertest.KilledRun(t, c.Mode, nil) })
	}
}

// inClear opens the way in clear while traffic continues, and expects the path to be void.
func (c Case) inClear(t *testing.T, d labdriver.Driver) {
	s := Build(t, d, c.Mode, 0)
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
		t.Fatalf("before the shortcut: %v", err)
	}
	open := c.Clear
	if open == nil {
		open = RouteInClear
	}
	must.Do(t, open(s.path))
	s.WaitReachable(t)
	for _, kind := range []string{"tcp_stream", "udp_stream"} {
		_, _, err := s.Trial(t, drivertest.Params(kind), false)
		must.FailFor(t, kind+" over the shortcut", err, c.Seen)
	}
}

// described checks the facts, the MTU and the secrets of a path with an MTU of its own.
func (c Case) described(t *testing.T, d labdriver.Driver) {
	const mtu = 1300
	s := Build(t, d, c.Mode, mtu)
	facts := map[string]string{}
	for _, f := range s.Path.Facts {
		facts[f.Name] = f.Value
	}
	must.EqualFor(t, "inner MTU", strconv.Itoa(mtu), facts["inner MTU"])
	for name, want := range c.Facts {
		if !regexp.MustCompile(want).MatchString(facts[name]) {
			t.Errorf("the fact %s is %q, want %s", name, facts[name], want)
		}
	}
	for _, side := range s.path.Sides() {
		if c.Device != "" {
			must.EqualFor(t, "the MTU of "+c.Device, mtu, must.Get(side.NS.Links().Stats(c.Device))(t).MTU)
		}
	}
	client, _ := s.path.PairNamespaces(1)
	must.EqualFor(t, "the MTU of a sandbox", mtu, must.Get(client.Links().Stats("eth0"))(t).MTU)
	checkNoSecrets(t, s.path)
	if c.Built != nil {
		c.Built(t, s.path)
	}
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

// down kills the tunnel's processes, or removes its device if it has none. It expects that nothing arrives,
// that nothing leaves unencrypted, even if the hosts have a default route to each other, and that the path's
// error says which process has exited.
func (c Case) down(t *testing.T, d labdriver.Driver) {
	s := Build(t, d, c.Mode, 0)
	p := s.path
	if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
		t.Fatal(err)
	}
	for _, side := range p.Sides() {
		must.Do(t, side.NS.Routes().DefaultRoute(p.Other(side).Host.Addr[0]))
		if len(p.PIDs()) == 0 {
			must.Do(t, side.NS.Links().Remove(c.Device))
		}
	}
	kill(t, p)
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

// checkNoSecrets searches what others can read of the mode's processes for strings that
// look like a key: 43 characters or more without a slash.
func checkNoSecrets(t *testing.T, p *tunnel.Path) {
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

// kill kills the processes of the tunnel with SIGKILL and waits until they have ended.
func kill(t *testing.T, p *tunnel.Path) {
	t.Helper()
	for _, pid := range p.PIDs() {
		must.Do(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	for end := time.Now().Add(timelimit.Scaled(20 * time.Second)); len(p.PIDs()) > 0; time.Sleep(10 * time.Millisecond) {
		if _, err := p.Snapshot(t.Context()); err != nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the processes have not ended")
		}
	}
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
