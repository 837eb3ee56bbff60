package pathspec

import (
	"context"
	"fmt"

	"tare/internal/observe/netstack"
	"tare/internal/observe/nic"
)

// procfs is where procfs is mounted on every Linux machine.
const procfs = "/proc"

// Read reads all counters of the namespace: those in procfs, and those only available over
// netlink, which are queueing disciplines, firewall rules and device kinds.
func (s NamespaceStack) Read(context.Context) (netstack.Reading, error) {
	var r netstack.Reading
	err := s.NS.Do(func() error {
		r = netstack.Read(procfs)
		return nil
	})
	if err != nil {
		return r, err
	}
	r.Kinds, err = s.NS.Links().Kinds()
	r.AddGap("kinds of devices", err)
	if cards := cardsOf(r.Kinds); len(cards) > 0 {
		err = s.NS.Do(func() error {
			nic.Read(&r, cards)
			return nil
		})
		r.AddGap("statistics of network cards", err)
	}
	qdiscs, err := s.NS.Tuning().QdiscDrops()
	r.AddGap("queueing disciplines", err)
	for _, q := range qdiscs {
		r.Set(fmt.Sprintf("qdisc/%s %s.drops", q.Device, q.Kind), q.Drops)
		r.Set(fmt.Sprintf("qdisc/%s %s.overlimits", q.Device, q.Kind), q.Overlimits)
		if q.Rate > 0 {
			s := netstack.Shaper{Device: q.Device, Kind: q.Kind, Rate: q.Rate, Burst: q.Burst}
			r.Shapers = append(r.Shapers, s)
			r.Set(s.Passed(), q.Bytes)
		}
	}
	rules, err := s.NS.Rules().DropRules()
	r.AddGap("firewall rules", err)
	for _, rule := range rules {
		if rule.Counted {
			r.Set("rule/"+rule.Where+".packets", rule.Packets)
		}
	}
	return r, nil
}

// cardsOf lists the devices with hardware: a lab has none, a machine's own namespace does.
func cardsOf(kinds map[string]string) (cards []string) {
	for name, kind := range kinds {
		if kind == "device" && name != "lo" {
			cards = append(cards, name)
		}
	}
	return cards
}
