package identity_test

import (
	"strings"
	"testing"

	"tare/internal/analysis/identity"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

func hostWith(name string, facts ...string) result.Host {
	h := result.Host{Name: name}
	for i := 0; i < len(facts); i += 2 {
		h.Facts = append(h.Facts, result.Fact{Name: facts[i], Value: facts[i+1]})
	}
	return h
}

// What differs between two hosts is a warning with both values; what is unknown on either,
// and what is equal, is none.
func TestCompareHosts(t *testing.T) {
	for name, c := range map[string]struct {
		a, b  []string
		codes string
		want  []string
	}{
		"alike":                        {[]string{"kernel", "6.1", "link_mtu", "1500", "clock_offset", "+0.000010 s"}, []string{"kernel", "6.1", "link_mtu", "1500", "clock_offset", "-0.900000 s"}, "", nil},
		"unknown on one":               {[]string{"kernel", "6.1", "link_speed", "unknown: the driver does not know it"}, []string{"link_speed", "10000 Mbit/s"}, "", nil},
		"links":                        {[]string{"link_mtu", "9000", "link_driver", "ixgbe 6.1"}, []string{"link_mtu", "1500", "link_driver", "ixgbe 6.1"}, "links_differ", []string{"hosts a and b differ: MTU 9000 and 1500."}},
		"offloads":                     {[]string{"link_offloads", "gro gso tso"}, []string{"link_offloads", "gro lro"}, "links_differ", []string{"offloads (only a has gso tso, only b has lro)"}},
		"offloads of one":              {[]string{"link_offloads", "gro"}, []string{"link_offloads", "none"}, "links_differ", []string{"offloads (only a has gro)"}},
		"machines":                     {[]string{"kernel", "6.1", "clock_source", "tsc", "cpus_online", "4 (0-3)"}, []string{"kernel", "6.12", "clock_source", "hpet", "cpus_online", "4 (0,2,4,6)"}, "hosts_differ", []string{"kernel 6.1 and 6.12; clock source tsc and hpet."}},
		"clocks hours apart":           {[]string{"clock_offset", "+7200.500000 s ahead"}, []string{"clock_offset", "-1.000000 s ahead"}, "clocks_apart", []string{"are 2h0m1.5s apart"}},
		"both ahead of the controller": {[]string{"clock_offset", "+60.000000 s ahead"}, []string{"clock_offset", "+60.100000 s ahead"}, "clocks_apart", []string{"and of this machine are 1m0.1s apart"}},
		"a clock of nonsense":          {[]string{"clock_offset", "+1e300 s"}, []string{"clock_offset", "NaN"}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := identity.CompareHosts(hostWith("a", c.a...), hostWith("b", c.b...))
			var codes, texts []string
			for _, w := range got {
				codes, texts = append(codes, w.Code), append(texts, w.Text)
			}
			must.Equal(t, c.codes, strings.Join(codes, " "))
			for _, want := range c.want {
				must.True(t, strings.Contains(strings.Join(texts, "\n"), want), "%q is not in %q", want, texts)
			}
		})
	}
}
