//go:build linux

package netns

import (
	"context"
	"net/netip"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/linuxnet"
	"tare/internal/study"
)

// endpointReplaced puts the server of the second pair in the place of that of the first one, behind the same published port, as a
// rolling update does: new connections are translated to it. The run then ends the first server, which closes its connections.
func (s *side) endpointReplaced(g linuxnet.Gateway) driver.Event {
	replaced := g
	replaced.Publish = slices.Clone(g.Publish)
	for i, p := range replaced.Publish {
		if p.Port == pathspec.FirstPort {
			to := s.ends[1].own[slices.Index(s.ends[0].own, p.To.Addr())]
			replaced.Publish[i].To = netip.AddrPortFrom(to, pathspec.FirstPort+1)
		}
	}
	counter := func(end int) string { return pathspec.CounterName(s.ends[end].At, "published", "rules") }
	return driver.Event{
		Name: study.EndpointReplaced, Title: "another server takes the place of the one behind the published port, which ends",
		State: func(context.Context) (driver.Counters, error) {
			rules, err := s.ns.Rules().Translations(g.Table, pathspec.FirstPort)
			out := driver.Counters{counter(0): 0, counter(1): 0}
			for end := range 2 {
				for _, a := range s.ends[end].own {
					out[counter(end)] += rules[a]
				}
			}
			return out, err
		},
		Do: func(context.Context) (func(context.Context) error, error) {
			err := s.ns.Rules().Republish(replaced)
			return func(context.Context) error { return s.ns.Rules().Republish(g) }, err
		},
		Happened: driver.Replaced(counter(0), counter(1)),
	}
}
