package mesh_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/daemon"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/mesh"
	"tare/internal/driver/tunnel"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/testkit/tunneltest"
	"tare/internal/timelimit"
)

func TestMain(m *testing.M) {
	drivertest.UsePrograms("nebula")
	drivertest.MainOf(m, mesh.Driver{})
}

// nebula is the mode.
const nebula = "mesh/nebula"

func TestConformance(t *testing.T) { drivertest.Conformance(t, mesh.Driver{}, 2) }

func TestTunnel(t *testing.T) {
	tunneltest.Check(t, mesh.Driver{}, tunneltest.Case{Mode: nebula, Seen: "/eth0.sealed_bytes", Device: "nebula1",
		Facts: map[string]string{"cipher": "^aes, ", "Nebula": "/nebula[)]$"}, Built: checkFiles})
}

// The other cipher is in the facts, and carries a proven trial.
func TestCipher(t *testing.T) {
	s := build(t, map[string]string{"cipher": "chachapoly"})
	if !slices.ContainsFunc(s.Path.Facts, func(f result.Fact) bool {
		return f.Name == "cipher" && strings.HasPrefix(f.Value, "chachapoly, ")
	}) {
		t.Errorf("facts %v", s.Path.Facts)
	}
	must.Get2(s.Trial(t, drivertest.Params("tcp_stream"), false))(t)
}

// order is the mode with one pair.
func order(t *testing.T, with map[string]string) labdriver.Order {
	return drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: nebula, Pairs: 1, With: with})
}

func build(t *testing.T, with map[string]string) *drivertest.Setup {
	return drivertest.Build(t, mesh.Driver{}, order(t, with))
}

// checkFiles checks who can read the files of both processes.
func checkFiles(t *testing.T, p *tunnel.Path) {
	t.Helper()
	for _, pid := range p.PIDs() {
		dir := filepath.Join("/proc", strconv.Itoa(pid), "root/run")
		for _, name := range []string{"", "nebula.yml", "host.key"} {
			s, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Error(err)
				continue
			}
			if s.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s of process %d is %v", name, pid, s.Mode())
			}
		}
	}
}

// A program that is another, too old or fails makes the mode unsupported or failed, with one
// line that says what to do or what it reported last, and nothing is left.
func TestBadPrograms(t *testing.T) {
	const version = "[ \"$1\" = -version ] && { echo 'Version: 1.11.0'; exit; }\n"
	bad := func(script, want string, unsupported bool) drivertest.Refused {
		return drivertest.Refused{Mode: nebula, Program: "nebula", Script: script, Want: want, Unsupported: unsupported}
	}
	drivertest.CheckRefused(t, mesh.Driver{}, map[string]drivertest.Refused{
		"another program": bad("echo something else", "install Nebula 1.10", true),
		"too old":         bad("echo 'Version: 1.9.7'", "is Nebula 1.9.7, which has no certificates for IPv6; install Nebula 1.10", true),
		"ends at once":    bad(version+"echo first; echo no luck; exit 7", "nebula of host a has ended: nebula ended (exit status 7): no luck", false),
		"gives up":        bad(version+"echo failed to set mtu 1300 on the default route; exit 1", "(exit status 1): failed to set mtu", false),
	})
}

// wrap puts a script before Nebula: commands run at the first start on a host, and never again.
func wrap(t *testing.T, commands string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	path := must.Get(daemon.Find("nebula"))(t)
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" != -version ] && mkdir %s/once 2>/dev/null; then\n%s\nfi\nexec %s \"$@\"\n", dir, commands, path)
	if err := os.WriteFile(filepath.Join(dir, "nebula"), []byte(script), 0o755); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

// A Nebula that gives up because the kernel takes long to complete its address is started again.
func TestStartedAgain(t *testing.T) {
	drivertest.NeedMode(t, mesh.Driver{}, order(t, nil))
	dir := wrap(t, "echo failed to set mtu 1300 on the default route; exit 1")
	s := build(t, nil)
	must.Get(os.Stat(filepath.Join(dir, "once")))(t)
	if pids := s.Path.Processes(); len(pids) != 2 {
		t.Errorf("the path has the processes %v, want 2", pids)
	}
}

// Two hosts with different ciphers complete no handshake. The error has what each process
// reported last, in one line.
func TestCiphersDiffer(t *testing.T) {
	drivertest.NeedMode(t, mesh.Driver{}, order(t, nil))
	t.Setenv(timelimit.Variable, "2") // they wait for each other in vain
	wrap(t, "sed -i 's/^cipher: aes/cipher: chachapoly/' /run/nebula.yml")
	_, err := mesh.Driver{}.Provision(t.Context(), order(t, nil))
	must.FailLine(t, "the error", err, "packets routed into it do not arrive; nebula of host a reported last: ", "; nebula of host b reported last: ")
	t.Log(err)
}

// Without Nebula the mode is unsupported, with what to install in one line.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if path, err := daemon.Find("nebula"); err == nil {
		testneed.Missing(t, testneed.Other, "Nebula is installed outside PATH: "+path)
	}
	_, err := mesh.Driver{}.Provision(t.Context(), order(t, nil))
	if u, is := driver.AsUnsupported(err); !is || !strings.Contains(u.Reason, "nebula is not installed") || !strings.Contains(u.Reason, "install Nebula 1.10") || strings.Contains(u.Reason, "\n") {
		t.Errorf("%v", err)
	}
}

// A host's certificate is byte for byte that of nebula-cert 1.11.0, which verified and used the
// authority's: nebula-cert sign -version 2 -in-pub host.pub -name a -networks ... -unsafe-networks ...
func TestCertificate(t *testing.T) {
	const want = `-----BEGIN NEBULA CERTIFICATE V2-----
MIHPoGmAAWGhGgQFxhIDARgEESABAAIAAAADAAAAAAAAAAFAohoEBcYSAQAYBBEg
AQACAAAAAQAAAAAAAAAAQIUEawRDgYYEazsyAYcgdyTH2W17LqwtmKIp0zNwYgn0
PuZ3TFr6tlYfHbKRbvOCIM6NOtHMtjPse3DBeBSlx27NApaFBQ00R0W6BYcOWH1Z
g0BTgRSczv4IK2nvE++c3wF3+Qt6JfE5csn3Q/ZCkGT39bMxkfHRW/C01JNNf6KN
XrM0gG8eMw63nBHZcKjcaGUD
-----END NEBULA CERTIFICATE V2-----
`
	prefixes := func(texts ...string) (all []netip.Prefix) {
		for _, s := range texts {
			all = append(all, netip.MustParsePrefix(s))
		}
		return all
	}
	own, behind := prefixes("198.18.3.1/24", "2001:2:0:3::1/64"), prefixes("198.18.1.0/24", "2001:2:0:1::/64")
	from, until := time.Date(2026, 11, 23, 13, 45, 37, 0, time.UTC), time.Date(2027, 1, 4, 5, 45, 37, 0, time.UTC)
	got, err := mesh.Issue(bytes.Repeat([]byte{1}, 32), from, until, "a", own, behind, bytes.Repeat([]byte{2}, 32))
	must.Equal(t, []any{nil, want}, []any{err, got})
	if _, err := mesh.Issue(bytes.Repeat([]byte{1}, 32), from, until, "a", own, behind, nil); err == nil {
		t.Error("a certificate without a key was issued")
	}
}

// Credentials are not printed.
func TestCredentialsAreNotPrinted(t *testing.T) {
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if got := mesh.Print(format, "hidden"); strings.Contains(got, "hidden") {
			t.Errorf("%s prints %s", format, got)
		}
	}
}
