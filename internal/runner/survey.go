package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tare/internal/analysis"
	"tare/internal/driver"
	"tare/internal/result"
)

// survey reads how the network stacks on a mode's path are set, where that can be
// done from here, and notes with the mode what is worth reading. What cannot be read
// is told once.
func (r *run) survey(ctx context.Context, s *stage) {
	var stacks []driver.Settings
	for _, stack := range s.path.Stacks {
		if stack.Survey == nil {
			continue
		}
		one, err := stack.Survey(ctx)
		if err != nil {
			r.warn("not_observed", "run", "how the network stacks of modes are set is unknown: %v", err)
			return
		}
		stacks = append(stacks, one)
	}
	s.stacks = stacks
	if text := congestionText(stacks); text != "" {
		s.facts = append(slices.Clip(s.facts), result.Fact{Name: "default congestion control", Value: text})
	}
	for _, st := range stacks {
		if st.NoFilters != "" {
			r.warn("not_observed", "run", "which packet filters are on a path is unknown: %s", st.NoFilters)
		}
		if text := filterText(st.Filters); text != "" {
			s.facts = append(slices.Clip(s.facts), result.Fact{Name: st.At + " packet filter", Value: text})
		}
	}
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

// figureTracked is the share of a connection tracking's room that was in use after a
// trial, in the fullest stack of its path.
const figureTracked = result.FigureTracked

// tracked notes how full the connection tracking of the path is as a trial ends.
// What cannot be read is left out: the loss that it would explain has other signs.
func (l *lane) tracked(ctx context.Context) {
	if l.stage.path == nil {
		return
	}
	var most float64
	known := false
	for _, stack := range l.stage.path.Stacks {
		if stack.Tracked == nil {
			continue
		}
		t, tracks, err := stack.Tracked(ctx)
		if err != nil {
			return
		}
		if known = known || tracks; tracks && t.Max > 0 {
			most = max(most, float64(t.Count)/float64(t.Max))
		}
	}
	if !known {
		return
	}
	if l.out.Machine == nil {
		l.out.Machine = map[string]float64{}
	}
	l.out.Machine[figureTracked] = most
}

// surveyed is a stack as verdicts look at it.
func surveyed(st driver.Settings) analysis.Stack {
	out := analysis.Stack{At: st.At, Settings: st.Sysctls}
	for _, f := range st.Filters {
		out.Rules += f.Rules
		out.Docker = out.Docker || f.Docker
	}
	return out
}
