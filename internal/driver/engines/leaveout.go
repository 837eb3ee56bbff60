//go:build linux

package engines

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/engine/private"
	"tare/internal/result"
	"tare/internal/study"
)

// checkParts rejects variants that leave out what cannot be left out alone, or here.
func checkParts(m mode, o driver.Order) error {
	unsupported := func(format string, args ...any) error {
		return &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf(format, args...)}
	}
	for _, r := range m.needs {
		if r.once != "" && !o.Without(r.once) {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(r.with), o.Without)
		if o.Without(r.part) && len(left) > 0 {
			return unsupported("%s: off requires %s: off, because %s", r.part, strings.Join(left, ": off and "), r.why)
		}
	}
	if !o.Without(partCgroup) {
		return nil
	}
	if o.Limits != (study.Limits{}) {
		return unsupported("%s: off requires no limits, because control groups apply them", partCgroup)
	}
	one, err := private.OneGroup()
	if err == nil && one {
		err = unsupported("there is no %s to leave out: with version 2 of control groups, agents are in the run's own group in every mode", partCgroup)
	}
	return err
}

// leftOut adds to the fact on a part that was left out: what was read back.
func (p *path) leftOut(part, format string, args ...any) {
	f := result.Fact{Name: "without " + part, Value: fmt.Sprintf(format, args...)}
	i := slices.IndexFunc(p.facts, func(have result.Fact) bool { return have.Name == f.Name })
	if i < 0 {
		p.facts = append(p.facts, f)
		return
	}
	p.facts[i].Value += "; " + f.Value
}

// watch reads further counters before and after each trial, with rules for them, and reads them now: what
// cannot be read means that the mode is not what it claims to be.
func (p *path) watch(ctx context.Context, read pathspec.CounterReader, rules ...driver.Rule) error {
	p.AddReader(read)
	p.AddRules(rules...)
	return read(ctx, driver.Counters{})
}

// check adds a condition that must hold after every trial, and checks it now.
func (p *path) check(holds func() error) error {
	p.checks = append(p.checks, holds)
	return holds()
}
