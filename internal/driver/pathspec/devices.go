package pathspec

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/result"
)

// DeviceRule is a rule on the bytes of a device.
type DeviceRule struct {
	At       Place
	Device   Device
	Transmit bool // on what it sends, not on what it receives
	Rule     driver.Rule
}

// Counter returns the name of another counter of the device.
func (r DeviceRule) Counter(what string) string { return r.Device.Counter(r.At, what) }

// DeviceRules lists the rules on the bytes of devices.
func (p *Path) DeviceRules() (out []DeviceRule) {
	for _, r := range p.attributed() {
		of, what := result.Of(r.Counter)
		if what != "tx_bytes" && what != "rx_bytes" {
			continue
		}
		i := slices.IndexFunc(p.links, func(l link) bool { return l.at.At+"/"+l.dev.label() == of })
		if i >= 0 {
			out = append(out, DeviceRule{p.links[i].at, p.links[i].dev, what == "tx_bytes", r})
		}
	}
	return out
}

// Translating returns the places, as in counter names, with a rule that each connection must
// match: one that translates addresses.
func (p *Path) Translating() map[string]bool {
	out := map[string]bool{}
	for _, r := range p.rules {
		if of, _ := result.Of(r.Counter); r.Expect == driver.Connections {
			out[of[:max(0, strings.LastIndexByte(of, '/'))]] = true
		}
	}
	return out
}

// AddFacts adds facts about the mode.
func (p *Path) AddFacts(facts ...result.Fact) { p.facts = append(p.facts, facts...) }

// AddToFact adds a value to the fact of that name, after a semicolon, or adds the fact.
func (p *Path) AddToFact(name, value string) {
	if i := slices.IndexFunc(p.facts, func(f result.Fact) bool { return f.Name == name }); i >= 0 {
		p.facts[i].Value += "; " + value
		return
	}
	p.AddFacts(result.Fact{Name: name, Value: value})
}

// AfterFlush calls restore each time after the state of ended connections was removed.
func (p *Path) AfterFlush(restore func(ctx context.Context) error) {
	p.restore = append(p.restore, restore)
}

// flush is the flush of the driver, which may be nil, with what follows it.
func (p *Path) flush(own func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var err error
		if own != nil {
			err = own(ctx)
		}
		for _, f := range p.restore {
			err = errors.Join(err, f(ctx))
		}
		return err
	}
}
