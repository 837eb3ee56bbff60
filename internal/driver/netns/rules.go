//go:build linux

package netns

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
)

// checkRules rejects settings that need a part that is off.
func checkRules(o driver.Order) error {
	if o.With[settingRules] != "" && o.Without(partConntrack) {
		return &driver.Unsupported{Mode: o.Mode, Reason: "the setting " + settingRules + " needs the part " + partConntrack + ", which is off: the rules translate addresses, which is a property of a tracked connection"}
	}
	return nil
}

// gateway is the server's host, with the rules of other services.
type gateway struct {
	*path
	place
}

// addRules installs the rules of the settings, if there are any.
func addRules(ctx context.Context, p *path, with map[string]string) error {
	if with[settingRules] == "" && with[settingNoopRules] == "" {
		return nil
	}
	b := gateway{p, p.hostPlace(p.OnLab.B)}
	if text := with[settingRules]; text != "" {
		kind := cmp.Or(with[settingRulesKind], kindNftChain)
		r, err := b.serviceRules(ctx, kind)
		if err != nil {
			return err
		}
		if err := b.install(settingRules, text, r); err != nil {
			return err
		}
		p.AddFacts(result.Fact{Name: "with " + settingRulesKind, Value: r.title})
		b.mustPass(linuxnet.CountDecoys+"_packets", driver.Connections)
	}
	if text := with[settingNoopRules]; text != "" {
		err := b.install(settingNoopRules, text, rules{
			install: func(n int) error { return b.ns.Decoys().AddNoopRules(n, lab.Underlay) },
			count:   b.ns.Decoys().NoopRules,
		})
		if err != nil {
			return err
		}
		b.mustPass(linuxnet.CountNoopIn+"_bytes", driver.Forward)
		b.mustPass(linuxnet.CountNoopOut+"_bytes", driver.Reverse)
	}
	b.readCounters()
	return nil
}

// rules is how rules of one kind are installed and counted.
type rules struct {
	title   string // kind, with the version of the program that installed it
	install func(n int) error
	count   func() (int, error)
}

// install installs as many rules as a setting says, and reads back how many there are.
func (b gateway) install(setting, text string, r rules) error {
	if !validRules(text) {
		return fmt.Errorf("%s: %q is not a whole number from 1 to %d", setting, text, maxRules)
	}
	want, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.install(want); err != nil {
		return err
	}
	took := time.Since(began)
	got, err := r.count()
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%s: %d rules were installed, and %d are read back", setting, want, got)
	}
	b.AddFacts(result.Fact{Name: "with " + setting, Value: strconv.Itoa(got)},
		result.Fact{Name: setting + " installed in", Value: fmt.Sprintf("%.3f s", took.Seconds())})
	return nil
}

// serviceRules prepares rules of one kind: everything but the
// rules themselves, so that the time to install is theirs.
func (b gateway) serviceRules(ctx context.Context, kind string) (rules, error) {
	switch kind {
	case kindNftChain:
		return rules{title: kind, install: b.ns.Decoys().AddDecoyChain, count: b.ns.Decoys().DecoyChainRules}, nil
	case kindNftMap:
		return rules{title: kind, install: func(n int) error { return b.ns.Decoys().AddDecoyMap(n, b.dialled()) }, count: b.ns.Decoys().DecoyMapServices}, nil
	case kindLegacy, kindNft, kindIPSet:
		return b.iptablesRules(ctx, kind)
	}
	return rules{}, fmt.Errorf("%s: %q is none of %v", settingRulesKind, kind, ruleKinds())
}

// dialled lists the IPv4 addresses and ports that the clients dial.
func (b gateway) dialled() (out []netip.AddrPort) {
	for _, pair := range b.Pairs() {
		for _, a := range pair.Server.Dial {
			if a.Addr().Is4() {
				out = append(out, a)
			}
		}
	}
	return out
}

// mustPass adds a rule for a counter behind the installed rules.
func (b gateway) mustPass(counter string, e driver.Expect) {
	b.AddRules(driver.Rule{Counter: pathspec.CounterName(b.At, linuxnet.DecoyName, counter), Expect: e})
}

// readCounters adds these counters.
func (b gateway) readCounters() {
	if !slices.ContainsFunc(b.tables, func(w place) bool { return w.ns == b.ns }) {
		b.tables = append(b.tables, b.place) // translation tracks connections
	}
	b.AddReader(func(_ context.Context, c driver.Counters) error {
		counts, err := b.ns.Decoys().DecoyCounts()
		for name, n := range counts {
			c[pathspec.CounterName(b.At, linuxnet.DecoyName, name+"_packets")] = n.Packets
			c[pathspec.CounterName(b.At, linuxnet.DecoyName, name+"_bytes")] = n.Bytes
		}
		return err
	})
}
