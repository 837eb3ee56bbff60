package rootless_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/rootless"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

func TestConformance(t *testing.T) {
	drivertest.Conformance(t, drivertest.Only(rootless.Driver{}, "rootless/pasta"), 2)
}

func TestEnginesConformance(t *testing.T) {
	drivertest.Conformance(t, drivertest.Only(rootless.Driver{}, "rootless/pasta-out", "rootless/slirp4netns", "rootless/slirp4netns-out"), 2)
}

// needMode is for tests of a mode; see testneed.
func needMode(t *testing.T, mode string) {
	t.Helper()
	drivertest.NeedLab(t)
	drivertest.NeedMode(t, rootless.Driver{}, labdriver.Order{Order: driver.Order{Mode: mode}})
}

// stand builds a mode with one pair, or skips the test if it cannot be built here.
func stand(t *testing.T, mode string, mtu int) *drivertest.Setup {
	t.Helper()
	began := time.Now()
	needMode(t, mode)
	probed := time.Since(began)
	began = time.Now()
	s := drivertest.Build(t, rootless.Driver{}, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: mode, Pairs: 1, MTU: mtu}))
	t.Logf("%s: probed and taken down in %v, provisioned up to both agents' handshake in %v", mode, probed, time.Since(began))
	return s
}

// If the program is killed, the path's error says so.
func TestEnginesProgramKilled(t *testing.T) {
	for _, mode := range []string{"rootless/slirp4netns", "rootless/pasta"} {
		t.Run(mode, func(t *testing.T) {
			s := stand(t, mode, 1500)
			for _, pid := range s.Path.Processes() {
				must.Do(t, syscall.Kill(pid, syscall.SIGKILL))
			}
			var err error
			for end := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				_, err = s.Path.Snapshot(t.Context())
			}
			want := filepath.Base(mode) + " of sandbox b/server has ended"
			must.FailLine(t, "the error", err, want)
		})
	}
}

// The facts have the program's version and the MTU, which is the requested one.
func TestEnginesFacts(t *testing.T) {
	for mode, version := range map[string]string{"rootless/slirp4netns": ", libslirp ", "rootless/pasta-out": "/pasta)"} {
		s := stand(t, mode, 1400)
		facts := map[string]string{}
		for _, f := range s.Path.Facts {
			facts[f.Name] = f.Value
		}
		name := strings.TrimSuffix(filepath.Base(mode), "-out")
		if facts["sandbox MTU"] != "1400" || !strings.Contains(facts[name], version) {
			t.Errorf("%s: facts %v", mode, facts)
		}
		top := must.Get(s.Path.Topology())(t)
		seen := false
		for _, n := range top.Nodes {
			for _, f := range n.Facts {
				seen = seen || n.Label == "tap0" && f.Name == "mtu" && f.Value == "1400"
			}
		}
		if !seen {
			t.Errorf("%s: no tap0 with an MTU of 1400 in %+v", mode, top.Nodes)
		}
	}
}

// An impossible mode is reported in one line, and nothing is left.
func TestUnsupported(t *testing.T) {
	drivertest.NeedLab(t)
	for name, tt := range map[string]struct {
		mode, program, script string
		mtu                   int
		want                  string
		unsupported           bool
	}{
		"another program":  {"rootless/slirp4netns", "slirp4netns", "echo something else", 0, "slirp4netns: unknown output; install", true},
		"too old":          {"rootless/slirp4netns", "slirp4netns", "echo slirp4netns version 0.3.2", 0, "version 0.3.2 cannot publish ports", true},
		"does not start":   {"rootless/pasta", "pasta", "exit 3", 0, "exit status 3", true},
		"ends at once":     {"rootless/pasta", "pasta", `[ "$1" = --version ] && { echo pasta 1; exit; }; echo no luck >&2; exit 7`, 0, "has ended: pasta ended (exit status 7): no luck", false},
		"an MTU too small": {"rootless/pasta", "", "", 1279, "supports 1280 to 65520", false},
		"an MTU too large": {"rootless/slirp4netns-out", "", "", 65521, "supports 1280 to 65520", false},
		"an unknown mode":  {"rootless/none", "", "", 0, "has no mode", false},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.program != "" {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, tt.program), []byte("#!/bin/sh\n"+tt.script+"\n"), 0o755); err != nil { //nolint:gosec // it is to be run
					t.Fatal(err)
				}
				t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			}
			_, err := rootless.Driver{}.Provision(t.Context(), drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: tt.mode, Pairs: 1, MTU: tt.mtu}))
			must.FailLine(t, "the error", err, tt.want)
			if _, is := driver.AsUnsupported(err); is != tt.unsupported {
				t.Errorf("unsupported: %t, want %t: %v", is, tt.unsupported, err)
			}
		})
	}
}
