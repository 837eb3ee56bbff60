package wireguard_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/drivertest"
	"tare/internal/driver/tunnel"
	"tare/internal/driver/tunnel/tunneltest"
	"tare/internal/driver/wireguard"
)

func TestMain(m *testing.M) {
	if os.Getenv(doomed) != "" && len(os.Args) == 1 {
		if err := stand(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	drivertest.Main(m)
}

func TestBrief(t *testing.T) { drivertest.Brief(t, wireguard.Driver{}) }

// modes are those that have a test of their own; each skips where it cannot be had.
func modes() []string {
	return []string{"wireguard/userspace", "wireguard/kernel", "wireguard/go-binary"}
}

func TestShortcutsComeOutVoid(t *testing.T) {
	for _, mode := range modes()[:2] { // the third has the first one's device
		t.Run(mode, func(t *testing.T) {
			tunneltest.Shortcuts(t, wireguard.Driver{}, mode, tunneltest.RouteInClear, "/wireguard.")
		})
	}
}

// Without its processes, or without its device, the tunnel lets nothing through and
// nothing out.
func TestDown(t *testing.T) {
	for _, mode := range modes() {
		t.Run(mode, func(t *testing.T) {
			tunneltest.CheckTunnelDown(t, wireguard.Driver{}, mode, func(t *testing.T, p *tunnel.Path) {
				if len(p.PIDs()) > 0 {
					tunneltest.Kill(t, p)
					return
				}
				for _, s := range p.Sides() {
					if err := s.NS.Remove("wg0"); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// Facts tell which WireGuard it is; the MTU is the one that was ordered; no key can be
// read where others can look.
func TestFactsAndSecrets(t *testing.T) {
	for _, mode := range modes() {
		t.Run(mode, func(t *testing.T) {
			s, p := tunneltest.Build(t, wireguard.Driver{}, mode, 1300)
			facts := map[string]string{}
			for _, f := range s.Path.Facts {
				facts[f.Name] = f.Value
			}
			if facts["inner MTU"] != "1300" || !strings.Contains(facts["cipher"], "ChaCha20") {
				t.Errorf("facts %v", facts)
			}
			version := map[string]string{"wireguard/userspace": "golang.zx2c4.com/wireguard ", "wireguard/go-binary": "wireguard-go v", "wireguard/kernel": "kernel"}[mode]
			if !strings.Contains(facts["WireGuard"], version) {
				t.Errorf("WireGuard is %q, want its version: %s", facts["WireGuard"], version)
			}
			client, _ := p.PairNamespaces(1)
			for _, d := range []struct {
				of interface {
					ReadSysctl(string) (string, error)
				}
				name string
			}{{client, "eth0"}, {p.Near.NS, "wg0"}, {p.Far.NS, "wg0"}} {
				if mtu, err := d.of.ReadSysctl("net/ipv6/conf/" + d.name + "/mtu"); err == nil && mtu != "1300" {
					t.Errorf("the MTU of %s is %s", d.name, mtu)
				}
			}
			tunneltest.CheckNoSecrets(t, p)
		})
	}
}

// An MTU that leaves no room for the tunnel's own headers is refused in a line.
func TestMTUWithoutRoom(t *testing.T) {
	drivertest.NeedLab(t)
	for _, mtu := range []int{1441, 1279} {
		_, err := wireguard.Driver{}.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), driver.ModeSpec{Mode: "wireguard/userspace", Pairs: 1, MTU: mtu}))
		if err == nil || !strings.Contains(err.Error(), "from 1280 to 1440 fit") || strings.Contains(err.Error(), "\n") {
			t.Errorf("MTU %d: %v", mtu, err)
		}
	}
}

// A program that is missing, is another or does not start makes the mode unsupported or
// failed, in one line that says what to do, and nothing is left.
func TestBadPrograms(t *testing.T) {
	drivertest.NeedLab(t)
	for name, tt := range map[string]struct{ script, want string }{
		"another program": {"#!/bin/sh\necho something else\n", "ask %s/wireguard-go for its version"},
		"too old":         {"#!/bin/sh\nexit 1\n", "ask %s/wireguard-go for its version"},
		"ends at once":    {"#!/bin/sh\n[ \"$1\" = --version ] && { echo wireguard-go v1; exit; }\necho no luck >&2; exit 7\n", "no luck"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "wireguard-go"), []byte(tt.script), 0o755); err != nil { //nolint:gosec // it is to be run
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			_, err := wireguard.Driver{}.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), driver.ModeSpec{Mode: "wireguard/go-binary", Pairs: 1}))
			if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(tt.want, "%s", dir)) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			if tt.script[len(tt.script)-2] == '7' && !strings.Contains(err.Error(), "exit status 7") {
				t.Errorf("how it ended is not told: %v", err)
			}
		})
	}
}

// What the process in between says of itself and what it is told has no key in plain
// text anywhere but on the pipe.
func TestKeysAreNotPrinted(t *testing.T) {
	text, err := json.Marshal(map[string]any{"x": wireguard.Key{1, 2, 3}})
	if err != nil || !strings.Contains(string(text), "010203") {
		t.Errorf("the process is given %s, %v", text, err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := wireguard.Print(format); strings.Contains(got, "010203") || strings.Contains(got, "1 2 3") || strings.Contains(got, "0x1") {
			t.Errorf("%s prints %s", format, got)
		}
	}
}
