package rootless_test

import (
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
	drivertest.CheckRefused(t, rootless.Driver{}, map[string]drivertest.Refused{
		"another program":  {Mode: "rootless/slirp4netns", Program: "slirp4netns", Script: "echo something else", Want: "slirp4netns: unknown output; install", Unsupported: true},
		"too old":          {Mode: "rootless/slirp4netns", Program: "slirp4netns", Script: "echo slirp4netns version 0.3.2", Want: "version 0.3.2 cannot publish ports", Unsupported: true},
		"does not start":   {Mode: "rootless/pasta", Program: "pasta", Script: "exit 3", Want: "exit status 3", Unsupported: true},
		"ends at once":     {Mode: "rootless/pasta", Program: "pasta", Script: `[ "$1" = --version ] && { echo pasta 1; exit; }; echo no luck >&2; exit 7`, Want: "has ended: pasta ended (exit status 7): no luck"},
		"an MTU too small": {Mode: "rootless/pasta", MTU: 1279, Want: "supports 1280 to 65520"},
		"an MTU too large": {Mode: "rootless/slirp4netns-out", MTU: 65521, Want: "supports 1280 to 65520"},
		"an unknown mode":  {Mode: "rootless/none", Want: "has no mode"},
	})
}
