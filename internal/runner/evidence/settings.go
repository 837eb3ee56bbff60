package evidence

import (
	"context"
	"fmt"
	"strings"

	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/unit"
	"tare/internal/warning"
)

// ReadSettings reads the settings of the network stacks on a path, as far as they are
// accessible from here, and returns those that are relevant as facts of the mode. What
// cannot be read is reported once; read is false if nothing was.
func (o *Observer) ReadSettings(ctx context.Context, path *driver.Path) (stacks []driver.Settings, facts []result.Fact, read bool) {
	for _, stack := range path.Stacks {
		if stack.Survey == nil {
			continue
		}
		one, err := stack.Survey(ctx)
		if err != nil {
			o.cfg.Warn(warning.NotObserved, "run", "cannot read the network settings of a mode: %v", err)
			return nil, nil, false
		}
		stacks = append(stacks, one)
	}
	if text := congestionText(stacks); text != "" {
		facts = append(facts, result.Fact{Name: "default congestion control", Value: text})
	}
	for _, st := range stacks {
		if st.NoFilters != "" {
			o.cfg.Warn(warning.NotObserved, "run", "cannot read the packet filters on a path: %s", st.NoFilters)
		}
		if text := filterText(st.Filters); text != "" {
			facts = append(facts, result.Fact{Name: st.At + " packet filter", Value: text})
		}
	}
	return stacks, facts, true
}

// congestionText is the default congestion control of the stacks: one word if all are
// alike, empty if unknown.
func congestionText(stacks []driver.Settings) string {
	var parts []string
	alike := true
	first := ""
	for _, st := range stacks {
		v, known := st.Sysctls[driver.SysctlCongestion]
		if !known {
			continue
		}
		if first == "" {
			first = v
		}
		alike = alike && v == first
		parts = append(parts, st.At+" "+v)
	}
	if alike {
		return first
	}
	return strings.Join(parts, ", ")
}

// filterText lists packet filters by table, with their hooks and numbers of rules.
func filterText(filters []driver.Filter) string {
	var parts []string
	for _, f := range filters {
		if f.Chain == "" {
			parts = append(parts, fmt.Sprintf("%s %s (old iptables): %s", f.Family, f.Table, unit.Count(f.All, "rule", "rules")))
			continue
		}
		text := fmt.Sprintf("%s %s %s: %s", f.Family, f.Table, f.Hook, unit.Count(f.Rules, "rule", "rules"))
		if f.Drops {
			text += ", else drop"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
