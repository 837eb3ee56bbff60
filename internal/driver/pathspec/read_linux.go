package pathspec

import (
	"context"
	"fmt"

	"tare/internal/observe/netstack"
)

// procfs is where every Linux machine has it.
const procfs = "/proc"

// Read reads all counters of the namespace: what procfs shows, and what only netlink
// tells, which are queueing disciplines, firewall rules and what devices are.
func (s NamespaceStack) Read(context.Context) (netstack.Reading, error) {
	var r netstack.Reading
	err := s.NS.Do(func() error {
		r = netstack.Read(procfs)
		return nil
	})
	if err != nil {
		return r, err
	}
	r.Kinds, err = s.NS.Kinds()
	r.AddGap("kinds of devices", err)
	qdiscs, err := s.NS.QdiscDrops()
	r.AddGap("queueing disciplines", err)
	for _, q := range qdiscs {
		r.Set(fmt.Sprintf("qdisc/%s %s.drops", q.Device, q.Kind), q.Drops)
		r.Set(fmt.Sprintf("qdisc/%s %s.overlimits", q.Device, q.Kind), q.Overlimits)
	}
	rules, err := s.NS.DropRules()
	r.AddGap("firewall rules", err)
	for _, rule := range rules {
		if rule.Counted {
			r.Set("rule/"+rule.Where+".packets", rule.Packets)
		}
	}
	return r, nil
}
