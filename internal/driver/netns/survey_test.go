//go:build linux

package netns_test

import (
	"slices"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/drivertest"
	"tare/internal/driver/netns"
	"tare/internal/linuxnet"
)

// The stacks of a path can be looked at: nothing filters in the baseline's, the
// gateway of a published port does in the server's host, and the ends are set alike.
func TestSurvey(t *testing.T) {
	stacks := map[string][]driver.Stack{}
	for _, mode := range []string{"host", "netns/published"} {
		from, ok := drivertest.Provision(t, netns.Driver{}, mode, nil).Path.(driver.Surveyor)
		if !ok {
			t.Fatalf("the path of %s cannot be looked at", mode)
		}
		var err error
		if stacks[mode], err = from.Survey(t.Context()); err != nil {
			t.Fatal(err)
		}
		for at, n := range tracked(t, from) {
			if n.Max == 0 || n.Count > n.Max {
				t.Errorf("%s: %s tracks %+v", mode, at, n)
			}
		}
	}
	host := stacks["host"]
	if len(host) != 2 || host[0].At != "a" || host[1].At != "b" {
		t.Fatalf("host leads through %+v", host)
	}
	for _, s := range host {
		if len(s.Filters) > 0 || s.NoFilters != "" {
			t.Errorf("in %s of host there is %+v %s", s.At, s.Filters, s.NoFilters)
		}
	}
	published := stacks["netns/published"]
	gateway := slices.IndexFunc(published, func(s driver.Stack) bool { return s.At == "b" })
	server := slices.IndexFunc(published, func(s driver.Stack) bool { return s.At == "b/server" })
	if gateway < 0 || server < 0 {
		t.Fatalf("netns/published leads through %+v", published)
	}
	if !slices.ContainsFunc(published[gateway].Filters, func(f linuxnet.Filter) bool { return f.Hook == "prerouting" && f.Rules > 0 }) {
		t.Errorf("the gateway translates no addresses: %+v", published[gateway].Filters)
	}
	for _, name := range driver.SocketSettings() {
		if got, want := published[server].Settings[name], host[1].Settings[name]; got != want {
			t.Errorf("%s is %q in the server's sandbox and %q in the host", name, got, want)
		}
	}
	if v := host[0].Settings[driver.SysctlCongestion]; v == "" {
		t.Error("the congestion control of a host is not known")
	}
}

func tracked(t *testing.T, from driver.Surveyor) map[string]driver.Tracked {
	t.Helper()
	all, err := from.Tracked(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}
