package workloads

import (
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// A workload with an event has a schedule, and its trials are whole, with time for what follows the event.
func TestEventKeys(t *testing.T) {
	cat := studytest.Catalog()
	cat.Workloads = nil
	for _, w := range All() {
		cat.Workloads = append(cat.Workloads, w.Spec().WorkloadSpec)
	}
	for i := range cat.Modes {
		cat.Modes[i].Events = nil
		if cat.Modes[i].ID == "host" {
			cat.Modes[i].Events = []string{"link_down", "policy_added"}
		}
	}
	down := study.Workload{Kind: "http", Event: "link_down", TransactionRate: 1000}
	for _, kind := range []string{"tcp_rr", "http"} {
		for _, profile := range study.Profiles() {
			w := down
			w.Kind = kind
			s := must.Get(study.Resolve(study.Study{Profile: profile, Modes: study.ModesOf("host"), Workloads: []study.Workload{w}}, cat))(t)
			if w := s.Workloads[0]; w.Slice < w.Duration || w.Warmup.Std() < 500*time.Millisecond || w.Duration < study.EventDuration {
				t.Errorf("%s in %s: slices of %s, a warm-up of %s and %s timed", kind, profile, w.Slice, w.Warmup, w.Duration)
			}
		}
	}
	with := func(change func(*study.Workload)) study.Workload {
		w := down
		change(&w)
		return w
	}
	for want, w := range map[string]study.Workload{
		"event: tcp_stream does not take event": {Kind: "tcp_stream", Event: "link_down"},
		`event: event is "link_down", but http has no schedule without transaction_rate; set it, such as to 1000`:               with(func(w *study.Workload) { w.TransactionRate = 0 }),
		`event: event is "link_down", but transaction_rate is 50, which is too low to see how long a gap is; want at least 100`: with(func(w *study.Workload) { w.TransactionRate = 50 }),
		`event: event is "link_down", but there are 2 pairs; an event is measured with one`:                                     with(func(w *study.Workload) { w.Pairs = 2 }),
		`event: event is "link_down", but there is a load beside it; remove event or with_load`:                                 with(func(w *study.Workload) { w.WithLoad = study.TCPLoad }),
		`event: event is "link_down", but duration is 500ms, which has no room for it; want at least 1s`:                        with(func(w *study.Workload) { w.Duration = quantity.Duration(500 * time.Millisecond) }),
		`event: event is "link_dwon", which no mode of the study has; want link_down or policy_added`:                           with(func(w *study.Workload) { w.Event = "link_dwon" }),
		`event: event is "Link"; want the name of an event, such as link_down`:                                                  with(func(w *study.Workload) { w.Event = "Link" }),
		`slice: slice is 20ms, but its event happens once in a trial; remove slice`: with(func(w *study.Workload) {
			w.Slice, w.Duration = quantity.Duration(20*time.Millisecond), quantity.Duration(4*time.Second)
		}),
	} {
		var got []string
		for _, p := range study.Check(study.Study{Modes: study.ModesOf("host"), Workloads: []study.Workload{w}}, cat, nil) {
			got = append(got, strings.TrimPrefix(p.Path, "workloads[0].")+": "+p.Text)
		}
		if text := strings.Join(got, "\n"); !strings.HasPrefix(text, want) {
			t.Errorf("%+v: %q, want %q", w, text, want)
		}
	}
	for _, p := range study.Check(study.Study{Modes: study.ModesOf("netns/bridge"), Workloads: []study.Workload{down}}, cat, nil) {
		must.Contain(t, p.Text, `event is "link_down", but no mode of the study has events: netns/bridge; remove event`)
	}
}
