package judge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/internal/analysis/verdict"
	"tare/internal/result"
)

// finish creates trials from the rows.
func (b *builder) finish() (Numbers, error) {
	if err := b.problem(); err != nil {
		return Numbers{}, err
	}
	if !slices.ContainsFunc(b.rows, func(r row) bool { return r.status == result.TrialOK }) {
		return Numbers{}, errors.New("there are no values")
	}
	if err := b.texts.problem(); err != nil {
		return Numbers{}, err
	}
	b.texts = textColumns{}
	pairing, err := b.pair()
	if err != nil {
		return Numbers{}, err
	}
	order := b.order()
	b.duplicates(order)
	if err := b.problem(); err != nil {
		return Numbers{}, err
	}
	modes, err := b.baselines()
	if err != nil {
		return Numbers{}, err
	}
	metrics, err := b.resolveMetrics()
	if err != nil {
		return Numbers{}, err
	}
	n := Numbers{Pairing: pairing, Input: verdict.Input{
		Modes: modes, Workloads: b.loads.list, Metrics: metrics, Trials: b.trials(order),
	}}
	if pairing == NoPairs {
		n.Input.Rule.Pairing = verdict.PairNone
	}
	b.gaps(n)
	b.zeros()
	n.Warnings = b.warnings
	return n, nil
}

// pair determines the pairing, and assigns blocks to values without one: their position among the
// values of their mode, workload and metric.
func (b *builder) pair() (Pairing, error) {
	blocks := len(b.blocks.list) > 0
	pairing := b.opt.Pairing
	switch {
	case pairing == "" && blocks:
		pairing = ByBlock
	case pairing == "":
		pairing = NoPairs
	case pairing == ByBlock && !blocks:
		return "", errors.New("values cannot be paired by block, because they have none: add a column block, or use --pairing order or none")
	}
	if pairing == ByBlock {
		return pairing, b.numberBlocks()
	}
	next := map[[3]int32]int32{}
	for i := range b.rows {
		r := &b.rows[i]
		k := [3]int32{r.mode, r.workload, r.metric}
		if r.status != result.TrialOK {
			k[2] = -1
		}
		next[k]++
		r.block = next[k]
	}
	return pairing, nil
}

// numberBlocks assigns numbers to the names of blocks: the names themselves if all are numbers,
// else the order of appearance.
func (b *builder) numberBlocks() error {
	ids := make([]int32, len(b.blocks.list))
	taken := map[int32]bool{}
	numbers := true
	for i, name := range b.blocks.list {
		n, err := strconv.ParseInt(name, 10, 32)
		numbers = numbers && err == nil && !taken[int32(n)]
		ids[i] = int32(n)
		taken[ids[i]] = true
	}
	for i := range b.rows {
		r := &b.rows[i]
		switch {
		case r.block == noBlock:
			// A file without blocks among files with blocks.
			return fmt.Errorf("%s has no block, but other values have one: add it, or use --pairing order or none", b.at(*r))
		case numbers:
			r.block = ids[r.block]
		default:
			r.block++
		}
	}
	return nil
}

// order returns the rows sorted by block, workload and mode, with those first that do not count,
// and by metric. The rows themselves stay in the order of the lines.
func (b *builder) order() []int32 {
	order := make([]int32, len(b.rows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		p, q := &b.rows[i], &b.rows[j]
		return cmp.Or(cmp.Compare(p.block, q.block), cmp.Compare(p.workload, q.workload), cmp.Compare(p.mode, q.mode),
			cmp.Compare(p.status, q.status), cmp.Compare(p.metric, q.metric))
	})
	return order
}

// sameTrial reports whether two values belong to the same trial.
func (p *row) sameTrial(q *row) bool {
	return p.status == result.TrialOK && q.status == result.TrialOK && p.block == q.block && p.workload == q.workload && p.mode == q.mode
}

// duplicates records a problem for a second value in the same place.
func (b *builder) duplicates(order []int32) {
	last := -1 // in order, the last one that counts
	for i, at := range order {
		r := &b.rows[at]
		if r.status != result.TrialOK {
			continue
		}
		if last >= 0 {
			if was := &b.rows[order[last]]; was.sameTrial(r) && was.metric == r.metric {
				b.file = b.files.list[r.file]
				b.addProblem(int(r.line), "a second %s of %s in block %d, after %s; --pairing none uses all values",
					b.metrics[r.metric].Name, scope(b.modes.list[r.mode], b.loads.list[r.workload]), r.block, b.at(*was))
			}
		}
		last = i
	}
}

// baselines determines the baseline of each mode.
func (b *builder) baselines() ([]result.Mode, error) {
	base := b.opt.Baseline
	if base != "" && !slices.Contains(b.modes.list, base) {
		return nil, fmt.Errorf("the baseline %s is not among the modes: %s", quote(base), listNames(b.modes.list))
	}
	named := base != ""
	switch {
	case named:
	case slices.Contains(b.modes.list, "host"):
		base = "host"
	default:
		base = b.modes.list[0]
	}
	var modes []result.Mode
	for i, id := range b.modes.list {
		m := result.Mode{ID: id, Title: id, Status: result.ModeMeasured, Control: b.controls[int32(i)]}
		own, there := b.baseOf[int32(i)]
		switch {
		case b.opt.NoBaseline:
		case len(b.baseOf) > 0 && !named:
			if there && own != int32(i) {
				m.Baseline = b.modes.list[own]
			}
		case id != base:
			m.Baseline = base
		}
		modes = append(modes, m)
	}
	return modes, nil
}

// listNames lists names and truncates a long list.
func listNames(names []string) string {
	const most = 12
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// trials combines the metrics of a block into one trial. A value that does not count is a separate
// trial.
func (b *builder) trials(order []int32) []result.Trial {
	n := 0
	for i, at := range order {
		if i == 0 || !b.rows[order[i-1]].sameTrial(&b.rows[at]) {
			n++
		}
	}
	out := make([]result.Trial, 0, n)
	for i, at := range order {
		r := &b.rows[at]
		if i == 0 || !b.rows[order[i-1]].sameTrial(r) {
			out = append(out, result.Trial{Schema: result.TrialSchema, Seq: len(out) + 1, Block: int(r.block), Attempt: 1,
				Mode: b.modes.list[r.mode], Workload: b.loads.list[r.workload], Status: r.status})
		}
		t := &out[len(out)-1]
		if r.status != result.TrialOK {
			continue
		}
		name := b.metrics[r.metric].Name
		if t.Metrics == nil {
			t.Metrics = map[string]float64{}
		}
		t.Status, t.Metrics[name] = r.status, r.value
		if r.atLeast {
			t.AtLeast = append(t.AtLeast, name)
		}
	}
	return out
}

func scope(mode, workload string) string { return mode + " " + workload }
