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

// withRules returns the function that builds a mode, with the rules of its settings on the server's host.
func withRules(ctx context.Context, build func(*path) error, o driver.Order) (func(*path) error, error) {
	if o.With[settingRules] == "" && o.With[settingNoopRules] == "" {
		return build, nil
	}
	if o.With[settingRules] != "" && o.Without(partConntrack) {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: "the setting " + settingRules + " needs the part " + partConntrack + ", which is off: the rules translate addresses, which is a property of a tracked connection"}
	}
	return func(p *path) error {
		if err := build(p); err != nil {
			return err
		}
		return p.addRules(ctx, o.With)
	}, nil
}

// addRules installs the rules of the settings.
func (p *path) addRules(ctx context.Context, with map[string]string) error {
	b := p.hostPlace(p.OnLab.B)
	if text := with[settingRules]; text != "" {
		kind := cmp.Or(with[settingRulesKind], kindNftChain)
		r, err := p.serviceRules(ctx, b.ns, kind)
		if err != nil {
			return err
		}
		if err := p.install(settingRules, text, r); err != nil {
			return err
		}
		p.AddFacts(result.Fact{Name: "with " + settingRulesKind, Value: r.title})
		p.mustPass(b, linuxnet.CountDecoys+"_packets", driver.Connections)
	}
	if text := with[settingNoopRules]; text != "" {
		err := p.install(settingNoopRules, text, rules{
			install: func(n int) error { return b.ns.Decoys().AddNoopRules(n, lab.Underlay) },
			count:   b.ns.Decoys().NoopRules,
		})
		if err != nil {
			return err
		}
		p.mustPass(b, linuxnet.CountNoopIn+"_bytes", driver.Forward)
		p.mustPass(b, linuxnet.CountNoopOut+"_bytes", driver.Reverse)
	}
	p.readDecoyCounters(b)
	return nil
}

// rules is how rules of one kind are installed and counted.
type rules struct {
	title   string // kind, with the version of the program that installed it
	install func(n int) error
	count   func() (int, error)
}

// install installs as many rules as a setting says, and reads back how many there are.
func (p *path) install(setting, text string, r rules) error {
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
	p.AddFacts(result.Fact{Name: "with " + setting, Value: strconv.Itoa(got)},
		result.Fact{Name: setting + " installed in", Value: fmt.Sprintf("%.3f s", took.Seconds())})
	return nil
}

// serviceRules prepares rules of one kind in the namespace of a gateway: everything but the
// rules themselves, so that the time to install is theirs.
func (p *path) serviceRules(ctx context.Context, ns *linuxnet.NS, kind string) (rules, error) {
	switch kind {
	case kindNftChain:
		return rules{title: kind, install: ns.Decoys().AddDecoyChain, count: ns.Decoys().DecoyChainRules}, nil
	case kindNftMap:
		return rules{title: kind, install: func(n int) error { return ns.Decoys().AddDecoyMap(n, p.dialled()) }, count: ns.Decoys().DecoyMapServices}, nil
	case kindLegacy, kindNft, kindIPSet:
		return p.iptablesRules(ctx, ns, kind)
	}
	return rules{}, fmt.Errorf("%s: %q is none of %v", settingRulesKind, kind, ruleKinds())
}

// dialled lists the IPv4 addresses and ports that the clients dial.
func (p *path) dialled() (out []netip.AddrPort) {
	for _, pair := range p.Pairs() {
		for _, a := range pair.Server.Dial {
			if a.Addr().Is4() {
				out = append(out, a)
			}
		}
	}
	return out
}

// mustPass adds a rule for a counter behind the installed rules.
func (p *path) mustPass(at place, counter string, e driver.Expect) {
	p.AddRules(driver.Rule{Counter: pathspec.CounterName(at.At, linuxnet.DecoyName, counter), Expect: e})
}

// readDecoyCounters adds these counters.
func (p *path) readDecoyCounters(at place) {
	if !slices.ContainsFunc(p.tables, func(w place) bool { return w.ns == at.ns }) {
		p.tables = append(p.tables, at) // translation tracks connections
	}
	p.AddReader(func(_ context.Context, c driver.Counters) error {
		counts, err := at.ns.Decoys().DecoyCounts()
		for name, n := range counts {
			c[pathspec.CounterName(at.At, linuxnet.DecoyName, name+"_packets")] = n.Packets
			c[pathspec.CounterName(at.At, linuxnet.DecoyName, name+"_bytes")] = n.Bytes
		}
		return err
	})
}
