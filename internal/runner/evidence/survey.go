package evidence

import (
	"context"
	"fmt"
	"strings"

	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/warning"
)

// ReadSettings reads how the network stacks on a path are set, where that can be
// done from here, and what of it is worth reading as facts of the mode. What cannot be
// read is told once; read is false where nothing was.
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

// congestionText is what congestion control the stacks give to who asks for none:
// one word where all are alike. Empty where none is known.
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

// filterText lists packet filters by table: where packets meet them, and how many
// rules there are.
func filterText(filters []driver.Filter) string {
	var parts []string
	for _, f := range filters {
		if f.Chain == "" {
			parts = append(parts, fmt.Sprintf("%s %s (old iptables): %s", f.Family, f.Table, rulesText(f.All)))
			continue
		}
		text := fmt.Sprintf("%s %s %s: %s", f.Family, f.Table, f.Hook, rulesText(f.Rules))
		if f.Drops {
			text += ", else drop"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func rulesText(n int) string {
	if n == 1 {
		return "1 rule"
	}
	return fmt.Sprintf("%d rules", n)
}
