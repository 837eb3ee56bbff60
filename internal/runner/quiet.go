package runner

import (
	"context"
	"fmt"
	"time"

	"tare/internal/live"
	"tare/internal/observe"
	"tare/internal/result"
	"tare/internal/study/quantity"
	"tare/internal/warning"
	"tare/internal/wording"
)

// A run waits for a quieter machine before trials that the current load would make
// invalid: in all for at most one patienceShare-th of its announced duration, and never
// beyond its time limit. It looks at the load of every quietWindow again.
const (
	patienceShare = 4
	quietWindow   = time.Second
)

// loadTicks is by how many of the kernel's ticks of 10 ms a load must exceed its limit: in
// a short window one tick more or less is chance.
const loadTicks = 2

// awaitQuiet waits while the machine is too busy for a group of trials, as far as the run
// has time. idle is what was observed during the last wait; again waits once more. It
// returns early when ctx ends.
func (r *measurement) awaitQuiet(ctx context.Context, group []*trialRun, idle observe.Window, again func() observe.Window) {
	why := r.tooBusy(group, idle)
	if why == "" || r.mayWait() < quietWindow {
		return
	}
	r.tell(live.Waiting{Text: fmt.Sprintf("waiting for a quieter machine, at most %s: %s", wording.Duration(r.mayWait()), why)})
	began := time.Now()
	for why != "" && r.mayWait() >= quietWindow && ctx.Err() == nil {
		round := time.Now()
		idle = again()
		r.patience -= time.Since(round)
		why = r.tooBusy(group, idle)
	}
	took := wording.Duration(time.Since(began).Round(time.Second))
	if why != "" {
		r.warn(warning.NotQuiet, "run", "waited %s for a quieter machine in vain: %s, and trials under such a load are invalid. Stop other programs, or use a quieter machine.", took, why)
		return
	}
	r.tell(live.Waiting{Text: "the machine is quieter after " + took})
}

// mayWait is how much longer the run may wait for a quieter machine.
func (r *measurement) mayWait() time.Duration {
	left := r.patience
	if limit := r.schedule.Limit(); limit > 0 {
		left = min(left, limit-time.Since(r.schedule.Began)-r.schedule.Estimate(r.schedule.Rest()))
	}
	return left
}

// tooBusy says which load of the machine would make trials of a group invalid, empty if
// none would: other programs and the hypervisor, whose limits are lower for trials that run
// alone.
func (r *measurement) tooBusy(group []*trialRun, idle observe.Window) string {
	rules := r.cfg.Study.Invalid
	steal, others := rules.Steal, rules.Others
	if len(group) > 1 {
		steal, others = rules.CPUWait, rules.CPUWait
		if !group[0].sendsAtRate() {
			return ""
		}
	}
	long := idle.Metrics[result.MachineElapsed]
	if long <= 0 || !group[0].observed.Local() {
		return ""
	}
	for _, load := range []struct {
		metric string
		most   quantity.Share
		text   string
	}{
		{result.MachineOthers, others, "other programs use"},
		{result.MachineSteal, steal, "the hypervisor takes"},
	} {
		if used := idle.Metrics[load.metric]; load.most.On() && used > load.most.Of*long+loadTicks*tick.Seconds() {
			return fmt.Sprintf("%s %s of a CPU, limit %s", load.text, wording.Percent(used/long), wording.Percent(load.most.Of))
		}
	}
	return ""
}

// tick is the unit in which the kernel counts CPU time.
const tick = 10 * time.Millisecond
