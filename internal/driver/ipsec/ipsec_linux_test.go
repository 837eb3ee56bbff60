package ipsec_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/ipsec"
	"tare/internal/driver/tunnel"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/testkit/tunneltest"
)

func TestMain(m *testing.M) { drivertest.MainOf(m, ipsec.Driver{}) }

func TestConformance(t *testing.T) { drivertest.Conformance(t, ipsec.Driver{}, 2) }

// The facts say which IPsec it is; the kernel has security associations in one mode and
// none in the other. The kernel's tunnel continues with its keys without its processes, as
// IPsec intends.
func TestTunnel(t *testing.T) {
	facts := func(esp string) map[string]string {
		return map[string]string{"strongSwan": "^strongSwan [56][.]", "ESP": "^" + esp, "cipher": "^AES_GCM_16-128$", "key exchange": "CURVE_25519"}
	}
	associations := func(fits func(n int) bool) func(*testing.T, *tunnel.Path) {
		return func(t *testing.T, p *tunnel.Path) {
			for _, s := range p.Sides() {
				if list, _ := s.NS.Tunnels().Associations(); !fits(len(list)) {
					t.Errorf("host %s: the kernel has %d associations", s.At, len(list))
				}
			}
		}
	}
	for _, c := range []tunneltest.Case{
		{Mode: "ipsec/userspace", Seen: "/esp.", Device: "ipsec0", Facts: facts("in charon"), Built: associations(func(n int) bool { return n == 0 }), Clear: func(p *tunnel.Path) error {
			return errors.Join(p.Near.NS.Routes().PreferMainTable(), p.Far.NS.Routes().PreferMainTable(), tunneltest.RouteInClear(p))
		}},
		{Mode: "ipsec/kernel", Seen: "/esp.", Outlives: true, Facts: facts("in the kernel"), Built: associations(func(n int) bool { return n >= 2 }), Clear: func(p *tunnel.Path) error {
			return errors.Join(p.Near.NS.Tunnels().DropPolicies(), p.Far.NS.Tunnels().DropPolicies())
		}},
	} {
		t.Run(c.Mode, func(t *testing.T) { tunneltest.Check(t, ipsec.Driver{}, c) })
	}
}

// The key exchange of two hosts with different keys fails, the error says so, and it
// contains no part of either key.
func TestKeyExchangeFails(t *testing.T) {
	drivertest.NeedLab(t)
	if !ipsec.Here() {
		testneed.Missing(t, testneed.StrongSwan, "its program charon is not installed")
	}
	secrets := [2]string{"one key, secret", "another, secret"}
	err := ipsec.ProvisionWith(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: "ipsec/userspace", Pairs: 1}), secrets)
	must.FailLine(t, "error", err, "key exchange failed", "AUTH")
	if strings.Contains(fmt.Sprint(err), "secret") {
		t.Errorf("the error contains a key: %v", err)
	}
}

// A missing part of strongSwan is reported with how to install it.
func TestLacking(t *testing.T) {
	must.Fail(t, ipsec.Find("ipsec/kernel", t.TempDir()), "strongswan-charon")
	dir := t.TempDir()
	charon, plugins := filepath.Join(dir, "charon"), filepath.Join(dir, "plugins")
	if err := errors.Join(os.WriteFile(charon, []byte("#!/bin/sh\n"), 0o755), os.Mkdir(plugins, 0o755)); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	for mode, want := range map[string]string{
		"ipsec/kernel":    "lacks the plugin vici (Debian: strongswan-swanctl) and socket-default",
		"ipsec/userspace": "kernel-libipsec (Debian: libcharon-extra-plugins)",
	} {
		err := ipsec.Find(mode, dir)
		if u, ok := driver.AsUnsupported(err); !ok || !strings.Contains(u.Reason, want) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
