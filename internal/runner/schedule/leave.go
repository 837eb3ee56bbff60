package schedule

import (
	"slices"

	"tare/internal/analysis/verdict"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats"
)

// decision is what the stopping rule says after a block.
type decision struct {
	rules     map[metric]stats.Stopping // of each ratio that must settle
	halts     map[metric]stats.Halt
	settledAt int // first block after which all had settled; 0: not yet
	halt      stats.Halt
}

// metric is a primary metric of a mode with a workload.
type metric struct {
	cell
	name string
}

func metricOf(o verdict.ModeRatio) metric { return metric{cell{o.Mode, o.Workload}, o.Metric} }

// decide applies the stopping rule to blocks 1 to n in order, to each ratio by itself. Without any
// ratio the rule is met at the minimum number of blocks.
func (sc *Schedule) decide(n int) decision {
	stop := sc.cfg.Study.Stop
	first := stats.Stopping{
		MinBlocks: stop.MinBlocks, ExtraBlocks: stop.ExtraBlocks, MaxBlocks: sc.Plan.Blocks,
		Width: stop.Width, EffectWidth: stop.EffectWidth, Margin: sc.cfg.Study.Margin,
	}
	d := decision{rules: map[metric]stats.Stopping{}, halts: map[metric]stats.Halt{}}
	for block := 1; block <= n; block++ {
		for _, o := range sc.ratios(block) {
			m := metricOf(o)
			rule, known := d.rules[m]
			if !known {
				rule = first
			}
			if d.halts[m] == stats.GoOn {
				d.rules[m], d.halts[m] = rule.After(block, o.Ratio)
			}
		}
	}
	settled, ended := n >= stop.MinBlocks, true
	d.settledAt = stop.MinBlocks
	for _, o := range sc.ratios(n) {
		m := metricOf(o)
		at := d.rules[m].SettledAt
		settled, ended = settled && at > 0, ended && d.halts[m] == stats.Settled
		d.settledAt = max(d.settledAt, at)
	}
	if !settled {
		d.settledAt = 0
	}
	switch {
	case settled && ended && n >= min(sc.Plan.Blocks, d.settledAt+stop.ExtraBlocks):
		d.halt = stats.Settled
	case n >= sc.Plan.Blocks:
		d.halt = stats.Capped
	}
	return d
}

// leave removes the trials of a block, and of the later ones, of modes with a workload of which all
// ratios are settled. A baseline stays as long as a mode that is compared with it.
func (sc *Schedule) leave(block int, d decision) {
	if !plan.ModesLeave(sc.cfg.Study) {
		return
	}
	needed := sc.needed(block-1, d)
	rest := slices.DeleteFunc(slices.Clone(sc.Todo[sc.Done:]), func(t plan.Trial) bool {
		of, varied := result.VariedFrom(t.Workload.Name())
		c := cell{t.Mode, of}
		if needed, decided := needed[c]; needed || !decided {
			return false
		}
		sc.left[c] = sc.left[c] || !varied
		return true
	})
	sc.Append(rest)
}

// needed tells of each mode with a workload whether it must be measured after block n. It leaves out
// those whose ratio does not count for stopping, which are measured as long as the run lasts.
func (sc *Schedule) needed(n int, d decision) map[cell]bool {
	needed := map[cell]bool{}
	for _, o := range sc.ratios(n) {
		m := metricOf(o)
		needed[m.cell] = needed[m.cell] || d.halts[m] == stats.GoOn
	}
	modes := sc.cfg.Modes()
	for range modes { // a baseline may have one of its own
		for _, m := range modes {
			if m.Baseline == "" || m.Control || m.Status != result.ModeMeasured {
				continue
			}
			for _, w := range sc.Plan.Workloads {
				if own, decided := needed[cell{m.ID, w.Name()}]; !sc.gaveUp(m.ID, w.Name()) {
					base := cell{m.Baseline, w.Name()}
					needed[base] = needed[base] || own || !decided
				}
			}
		}
	}
	for _, m := range modes {
		for _, w := range sc.Plan.Workloads {
			if base, decided := needed[cell{m.Baseline, w.Name()}]; m.Control && decided {
				needed[cell{m.ID, w.Name()}] = base
			}
		}
	}
	return needed
}
