package study

import (
	"cmp"
	"time"

	"tare/internal/study/quantity"
)

// Evidence selects what is recorded in addition to the metrics. What costs a trial more
// than about 1 % of its goodput is recorded in separate trials.
type Evidence struct {
	Counters, Stacks, Drops string
}

// Fields declares the keys of an Evidence and their rules.
func (e *Evidence) Fields() []Field {
	return []Field{
		key("counters", choice(&e.Counters, On, Off), "on or off: counters of namespaces, devices and sockets around each trial, which show where losses occur and what limits TCP"),
		key("stacks", choice(&e.Stacks, On, Off, AutoWord), "on, off or auto: sampled stacks, which attribute the CPU cost to components; auto: in the cost pass, where permitted"),
		key("drops", choice(&e.Drops, On, Off, AutoWord), "on, off or auto: the kernel's drop reasons; auto: where permitted"),
	}
}

// or fills what e leaves open from def.
func (e Evidence) or(def Evidence) Evidence {
	return Evidence{Counters: cmp.Or(e.Counters, def.Counters), Stacks: cmp.Or(e.Stacks, def.Stacks), Drops: cmp.Or(e.Drops, def.Drops)}
}

// evidenceDefaults is what every profile records.
func evidenceDefaults() Evidence { return Evidence{Counters: On, Stacks: AutoWord, Drops: AutoWord} }

// EvidenceOf returns the evidence for the command line's value for all of it; empty for
// an unknown value.
func EvidenceOf(word string) Evidence {
	if word != On && word != Off {
		return Evidence{}
	}
	return Evidence{Counters: word, Stacks: word, Drops: word}
}

// CostPassID is the name of the cost pass in results, used like that of a workload.
const CostPassID = "cost_pass"

// CostPass is a pass with one rate for every mode: CPU use can be compared only at the
// same rate. It runs in separate trials, interleaved if those of the workload that it repeats are, and
// the stopping rule ignores it.
type CostPass struct {
	Rate                    quantity.PassRate
	FromBlock, Every, Times int
	Warmup                  quantity.Wait
	Duration                quantity.Duration
}

// Fields declares the keys of a CostPass and their rules.
func (c *CostPass) Fields() []Field {
	return []Field{
		key("rate", passRate(&c.Rate), "payload rate of every mode: auto (half the slowest mode's goodput so far), a rate, or off").
			flag("cost-pass", "", "compare CPU use in a pass at one rate for every mode: RATE, auto (half the slowest mode's goodput) or off"),
		key("from_block", count(&c.FromBlock, 1, mostBlocks), "the first block with the pass; at least 2 if the run chooses the rate"),
		key("every", count(&c.Every, 1, 1000), "in every n-th block from there on"),
		key("times", count(&c.Times, 1, 1000), "maximum number of blocks with the pass; unlimited when absent"),
		key("warmup", wait(&c.Warmup, 10*time.Minute), "traffic before the timed window"),
		key("duration", trialLength(&c.Duration), "the timed window"),
	}
}

// On reports whether a resolved study has the pass.
func (c CostPass) On() bool { return c.Rate != 0 && c.Rate != quantity.NoPass }

// In reports whether the pass runs in the block of that number, from 1 on.
func (c CostPass) In(block int) bool {
	nth := block - c.FromBlock
	every := max(1, c.Every)
	return c.On() && nth >= 0 && nth%every == 0 && (c.Times == 0 || nth/every < c.Times)
}

// Blocks is the number of blocks up to last that have the pass.
func (c CostPass) Blocks(last int) int {
	if !c.On() {
		return 0
	}
	return turns(last-c.FromBlock+1, c.Every, c.Times)
}

// passDefaults is the pass of a study that asks for one without details: short trials in
// some blocks; in the profile paper, trials in all blocks, as long as those of published
// studies.
func passDefaults(profile string) CostPass {
	c := CostPass{Rate: quantity.PassAuto, FromBlock: 2, Every: 1, Times: 8, Warmup: quantity.WaitOf(250 * time.Millisecond), Duration: WholeDuration}
	switch profile {
	case Paper:
		c.Times, c.Warmup, c.Duration = 0, quantity.WaitOf(WholeWarmup.Std()), quantity.Duration(30*time.Second)
	case Quick:
		c.Rate = quantity.NoPass
	}
	return c
}

// or fills what c leaves open from def, if there is a pass at all. A given schedule is
// kept.
func (c CostPass) or(def CostPass) CostPass {
	if c.Rate = cmp.Or(c.Rate, def.Rate); c.Rate == quantity.NoPass {
		return c
	}
	if c.Every == 0 && c.Times == 0 {
		c.Times = def.Times
	}
	c.FromBlock, c.Every = cmp.Or(c.FromBlock, def.FromBlock), cmp.Or(c.Every, def.Every)
	c.Warmup, c.Duration = cmp.Or(c.Warmup, def.Warmup), cmp.Or(c.Duration, def.Duration)
	return c
}

// costPass checks that the keys of the pass are consistent with each other and with the
// study.
func (v *validator) costPass(s Study) {
	v.all(s.CostPass.Fields(), "cost_pass.")
	if at := "cost_pass.from_block"; s.CostPass.FromBlock == 1 && (s.CostPass.Rate == quantity.PassAuto || s.CostPass.Rate == 0) && v.readable(at) {
		v.add(at, "from_block is 1, but rate auto is chosen after the first block; want 2 or more, or a rate")
	}
}

func passRate(at *quantity.PassRate) Plain {
	return plainOf(at, form[quantity.PassRate]{
		unit: Unit{JSON: "integer", Spelling: quantity.PassPattern, Digits: true, want: "auto, off, or a rate of %s, such as 1Gbit/s", show: showRate},
		read: spelt[quantity.PassRate](TextLiteral, WholeLiteral),
		size: func(r quantity.PassRate) (float64, bool) {
			return float64(r), r != quantity.PassAuto && r != quantity.NoPass
		}, native: textOf[quantity.PassRate],
	}, Rule{Min: leastRate, Max: highestRate})
}
