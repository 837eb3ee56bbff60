//go:build linux

package ipsec

import (
	"context"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/tunnel"
)

// spared notes that a side's kernel is to do no ESP: it has no associations, and nothing
// goes through any.
func (b *build) spared(s *tunnel.Side) {
	name := pathspec.CounterName(s.At, "xfrm", "associations")
	b.AddReader(func(_ context.Context, into driver.Counters) error {
		list, err := associations(s.NS)
		into[name] = uint64(len(list))
		for _, a := range list {
			into[name] += a.Packets
		}
		return err
	})
	b.AddRules(driver.Rule{Counter: name, Expect: driver.NoMatch})
}
