package judge

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/result"
	"tare/internal/unit"
	"tare/internal/warning"
)

// cell is the place of a value.
type cell struct{ mode, workload, metric int32 }

// gaps warns about modes with fewer pairs than values, or without any: blocks that only the mode or
// its baseline has, and single values.
func (b *builder) gaps(n Numbers) {
	have := map[cell][]row{}
	for _, r := range b.rows {
		if r.status == result.TrialOK {
			c := cell{r.mode, r.workload, r.metric}
			have[c] = append(have[c], r)
		}
	}
	for w := range int32(len(b.loads.list)) {
		for m := range int32(len(b.metrics)) {
			for i, mode := range n.Input.Modes {
				own := have[cell{int32(i), w, m}]
				if len(own) == 0 {
					continue
				}
				where := strings.Join([]string{mode.ID, b.loads.list[w], b.metrics[m].Name}, " ")
				if len(own) == 1 {
					b.warn(warning.OneValue, where, "there is only one value (%s), so there is no interval and no verdict", b.at(own[0]))
				}
				if mode.Baseline == "" || n.Pairing == NoPairs {
					continue
				}
				base := have[cell{b.modes.at[mode.Baseline], w, m}]
				b.missing(where, mode.ID, mode.Baseline, own, base)
				if len(base) > 0 {
					b.missing(where, mode.Baseline, mode.ID, base, own)
				}
			}
		}
	}
}

// missing warns about the blocks of one mode that the other lacks.
func (b *builder) missing(where, mode, other string, own, others []row) {
	there := map[int32]bool{}
	for _, r := range others {
		there[r.block] = true
	}
	var alone []row
	for _, r := range own {
		if !there[r.block] {
			alone = append(alone, r)
		}
	}
	if len(alone) == 0 || len(others) == 0 {
		return // another warning reports a mode without any pair
	}
	slices.SortFunc(alone, func(p, q row) int { return int(p.block) - int(q.block) })
	const most = 5
	var list []string
	for _, r := range alone[:min(len(alone), most)] {
		list = append(list, fmt.Sprintf("%d (%s)", r.block, b.at(r)))
	}
	if len(alone) > most {
		list = append(list, fmt.Sprintf("and %d more", len(alone)-most))
	}
	b.warn(warning.MissingBlock, where, "%s has no value in %s of %s, left out of this comparison: %s", other,
		unit.Count(len(alone), "block", "blocks"), mode, strings.Join(list, ", "))
}

// zeros warns about values of 0, which leave their cell without a ratio, once per metric. Counts
// and shares known to this program may be 0.
func (b *builder) zeros() {
	first, n := map[int32]row{}, map[int32]int{}
	for _, r := range b.rows {
		if r.status != result.TrialOK || r.value != 0 || b.metrics[r.metric].known && b.metrics[r.metric].Better == result.Lower {
			continue
		}
		if n[r.metric]++; n[r.metric] == 1 {
			first[r.metric] = r
		}
	}
	for m := range int32(len(b.metrics)) {
		if n[m] > 0 {
			b.warn(warning.ZeroValue, "run", "%s of %s is 0, the first in %s: there is no ratio with 0, so cells with such a value have no verdict",
				unit.Count(n[m], "value", "values"), b.metrics[m].Name, b.at(first[m]))
		}
	}
}
