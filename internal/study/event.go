package study

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/study/quantity"
	"tare/internal/study/suggest"
)

// LeastEventRate is the lowest rate of requests with an event, per second: it decides how finely a gap and the return of the
// rate are seen.
const LeastEventRate = 100

// leastEventDuration is the shortest timed window with an event in its middle.
const leastEventDuration = quantity.Duration(1e9)

// event checks the keys of a workload with an event. Its requests have a schedule: a closed loop sends none while it waits for
// an answer, and would not see what the others meet.
func (v *validator) event(prefix string, w Workload, spec WorkloadSpec) {
	if w.Event == "" || !v.readable(prefix+"event") || !slices.Contains(spec.Keys(), "event") {
		return
	}
	fail := func(format string, args ...any) {
		v.add(prefix+"event", "event is %q, but "+format, append([]any{w.Event}, args...)...)
	}
	switch {
	case w.Tool != "" && w.Tool != BuiltIn:
		fail("%s does not report what fails and for how long; remove event or tool", w.Tool)
	case w.VerifyWith != "":
		fail("%s does not report what fails and for how long; remove event or verify_with", w.VerifyWith)
	case w.TransactionRate == 0:
		fail("%s has no schedule without transaction_rate; set it, such as to 1000", spec.Kind)
	case w.TransactionRate < LeastEventRate:
		fail("transaction_rate is %d, which is too low to see how long a gap is; want at least %d", w.TransactionRate, LeastEventRate)
	case w.Pairs > 1:
		fail("there are %d pairs; an event is measured with one", w.Pairs)
	case w.WithLoad != "":
		fail("there is a load beside it; remove event or with_load")
	case w.Duration > 0 && w.Duration < leastEventDuration:
		fail("duration is %s, which has no room for it; want at least %s", w.Duration, leastEventDuration)
	}
}

// events checks that a mode of the study has the event of each workload. Of the others, the run leaves out the workload.
func (v *validator) events(s Study) {
	if len(s.Modes) == 0 {
		return
	}
	var known []string
	for _, m := range s.Modes {
		offer, ok := v.cat.Mode(m.Mode)
		if !ok || offer.Absent != "" {
			continue
		}
		for _, e := range offer.Events {
			if !slices.Contains(known, e) {
				known = append(known, e)
			}
		}
	}
	for i, w := range s.Workloads {
		path := fmt.Sprintf("workloads[%d].event", i)
		if w.Event == "" || slices.Contains(known, w.Event) || !v.readable(path) {
			continue
		}
		if len(known) == 0 {
			v.add(path, "event is %q, but no mode of the study has events: %s; remove event", w.Event, strings.Join(s.ModeNames(), ", "))
			continue
		}
		v.add(path, "event is %q, which no mode of the study has; want %s", w.Event, suggest.Either(known))
	}
}
