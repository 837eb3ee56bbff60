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

func TestMain(m *testing.M) { drivertest.Main(m) }

func TestConformance(t *testing.T) { drivertest.Conformance(t, ipsec.Driver{}, 2) }

func TestShortcutsAreVoid(t *testing.T) {
	t.Run("ipsec/userspace", func(t *testing.T) {
		tunneltest.Shortcuts(t, ipsec.Driver{}, "ipsec/userspace", func(p *tunnel.Path) error {
			return errors.Join(p.Near.NS.Routes().PreferMainTable(), p.Far.NS.Routes().PreferMainTable(), tunneltest.RouteInClear(p))
		}, "/esp.")
	})
	t.Run("ipsec/kernel", func(t *testing.T) {
		tunneltest.Shortcuts(t, ipsec.Driver{}, "ipsec/kernel", func(p *tunnel.Path) error {
			return errors.Join(p.Near.NS.Tunnels().DropPolicies(), p.Far.NS.Tunnels().DropPolicies())
		}, "/esp.")
	})
}

// Without its processes the userspace tunnel lets nothing through, and nothing leaves; the
// kernel's tunnel continues with its keys, as IPsec intends.
func TestDown(t *testing.T) {
	tunneltest.CheckTunnelDown(t, ipsec.Driver{}, "ipsec/userspace", func(t *testing.T, p *tunnel.Path) { tunneltest.Kill(t, p) })
}

// The facts say which IPsec it is; the kernel has security associations in one mode and
// none in the other; the MTU is the requested one; no key is readable by others.
func TestFactsAndSecrets(t *testing.T) {
	for mode, esp := range map[string]string{"ipsec/userspace": "in charon", "ipsec/kernel": "in the kernel"} {
		t.Run(mode, func(t *testing.T) {
			s, p := tunneltest.Build(t, ipsec.Driver{}, mode, 1300)
			facts := map[string]string{}
			for _, f := range s.Path.Facts {
				facts[f.Name] = f.Value
			}
			if facts["inner MTU"] != "1300" || !strings.HasPrefix(facts["strongSwan"], "strongSwan 5.") && !strings.HasPrefix(facts["strongSwan"], "strongSwan 6.") ||
				!strings.HasPrefix(facts["ESP"], esp) || facts["cipher"] != "AES_GCM_16-128" || !strings.Contains(facts["key exchange"], "CURVE_25519") {
				t.Errorf("facts %v", facts)
			}
			for _, s := range p.Sides() {
				list, err := s.NS.Tunnels().Associations()
				if mode == "ipsec/kernel" && (err != nil || len(list) < 2) || mode != "ipsec/kernel" && len(list) > 0 {
					t.Errorf("host %s: the kernel has %d associations, %v", s.At, len(list), err)
				}
			}
			if mode == "ipsec/userspace" {
				st := must.Get(p.Near.NS.Links().Stats("ipsec0"))(t)
				must.EqualFor(t, "the MTU of ipsec0", 1300, st.MTU)
			}
			tunneltest.CheckNoSecrets(t, p)
		})
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
