//go:build linux

package netns_test

import (
	"slices"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/netns"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// The stacks of a path can be surveyed: nothing filters in the baseline's, the gateway of a
// published port filters in the server's host, and both endpoints have the same settings.
func TestSurvey(t *testing.T) {
	stacks := map[string][]driver.Settings{}
	for _, mode := range []string{"host", "netns/published"} {
		for _, stack := range drivertest.Provision(t, netns.Driver{}, mode, nil).Path.Stacks {
			settings := must.Get(stack.Survey(t.Context()))(t)
			stacks[mode] = append(stacks[mode], settings)
			n, tracks := must.Get2(stack.ReadTracked(t.Context()))(t)
			must.True(t, !tracks || n.Max != 0 && n.Count <= n.Max, "%s: %s tracks %+v", mode, stack.Name, n)
		}
	}
	host := stacks["host"]
	must.Require(t, len(host) == 2 && host[0].At == "a" && host[1].At == "b", "host leads through %+v", host)
	for _, s := range host {
		must.True(t, len(s.Filters) == 0 && s.NoFilters == "", "in %s of host there is %+v %s", s.At, s.Filters, s.NoFilters)
	}
	published := stacks["netns/published"]
	gateway := slices.IndexFunc(published, func(s driver.Settings) bool { return s.At == "b" })
	server := slices.IndexFunc(published, func(s driver.Settings) bool { return s.At == "b/server" })
	must.Require(t, gateway >= 0 && server >= 0, "netns/published leads through %+v", published)
	must.True(t, slices.ContainsFunc(published[gateway].Filters, func(f driver.Filter) bool { return f.Hook == "prerouting" && f.Rules > 0 }),
		"the gateway translates no addresses: %+v", published[gateway].Filters)
	for _, name := range driver.SocketSettings() {
		must.EqualFor(t, name, host[1].Sysctls[name], published[server].Sysctls[name])
	}
	if v := host[0].Sysctls[driver.SysctlCongestion]; v == "" {
		t.Error("the congestion control of a host is not known")
	}
}
