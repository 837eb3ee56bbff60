package study_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

func resolved(t *testing.T, src string, cat study.Catalog) study.Study {
	t.Helper()
	s := must.Get(study.Resolve(decode(t, src), cat))(t)
	return s
}

// When a run ends: blocks by themselves are a fixed number in every profile, beside a
// stop they are the most.
func TestResolveStop(t *testing.T) {
	stop := func(least int, width float64, extra int) *study.Stop {
		return &study.Stop{MinBlocks: least, Width: width, EffectWidth: 0.05, ExtraBlocks: extra}
	}
	for src, want := range map[string]struct {
		blocks int
		stop   *study.Stop
	}{
		"profile: quick":                                            {7, nil},
		"profile: standard":                                         {20, stop(5, 0.025, 2)},
		"profile: paper":                                            {10, nil},
		"profile: standard\nblocks: 8":                              {8, nil},
		"profile: standard\nblocks: 8\nstop: {}":                    {8, stop(5, 0.025, 2)},
		"profile: standard\nblocks: 3\nstop: {}":                    {3, stop(3, 0.025, 2)},
		"profile: quick\nstop: {}":                                  {20, stop(5, 0.025, 2)},
		"profile: paper\nstop: {width: 0.01}":                       {10, stop(5, 0.01, 2)},
		"profile: standard\nstop: {min_blocks: 20}":                 {22, stop(20, 0.025, 2)},
		"profile: standard\nstop: {min_blocks: 999}":                {1000, stop(999, 0.025, 2)},
		"profile: quick\nblocks: 30\nstop: {extra_blocks: 1}":       {30, stop(5, 0.025, 1)},
		"profile: standard\nstop: {min_blocks: 5, extra_blocks: 9}": {20, stop(5, 0.025, 9)},
	} {
		s := resolved(t, src+"\nmodes: [host]\nworkloads: [tcp_rr]\n", studytest.Catalog())
		must.True(t, s.Blocks == want.blocks, "%q: %d blocks, want %d", src, s.Blocks, want.blocks)
		must.EqualFor(t, src, want.stop, s.Stop)
	}
}

// The control is the baseline of the first mode that has one, as the study has it,
// and comes last; a study that is resolved has it already.
func TestControl(t *testing.T) {
	for _, c := range []struct{ modes, mode, baseline string }{
		{"[host, netns/bridge]", "host", "host"},
		{"[netns/colocated, netns/bridge]", "host-local", "host-local"},
		{"[host]", "host", "host"},
		{"[vm/virtio, netns/vxlan]", "host-local", "host-local"},
		{"[netns/bridge, {mode: host, id: raw, title: Raw, lab: {mtu: 1400}}]", "host", "raw"},
	} {
		s := resolved(t, "control: true\nworkloads: [tcp_rr]\nmodes: "+c.modes+"\ncompare: [{a: control, b: "+c.baseline+"}]\n", studytest.Catalog())
		last := s.Modes[len(s.Modes)-1]
		must.True(t, last.Name() == study.ControlID && last.Mode == c.mode, "%s: the last mode is %+v", c.modes, last)
		base, _ := s.ModeNamed(c.baseline)
		must.EqualFor(t, c.modes+": its lab (-baseline +control)", base.Lab, last.Lab)
		must.EqualFor(t, c.modes+": the control is compared with", c.baseline, s.BaselineOf(last, ""))
		must.EqualFor(t, c.modes+": the baseline is compared with", "", s.BaselineOf(base, ""))
	}
	s := resolved(t, "modes: [host]\nworkloads: [tcp_rr]\n", studytest.Catalog())
	must.True(t, len(s.Modes) == 1, "a control that was not requested: %v", s.ModeNames())
}

// The lab of a mode is the study's but for what it says itself, and a rate there
// leaves bulk trials whole as one of the study does.
func TestModeLab(t *testing.T) {
	cat := studytest.Catalog()
	cat.Workloads[2].Bulk = true
	s := resolved(t, `
modes: [host, {mode: host, id: slow, lab: {rate: 900Mbit/s}}, {mode: netns/bridge, lab: {mtu: 9000, offload: off}}]
workloads: [udp_stream]
lab: {mtu: 1400}
`, cat)
	slow, big := study.Lab{MTU: 1400, Rate: 9e8, Offload: study.On}, study.Lab{MTU: 9000, Offload: study.Off}
	want := []study.Lab{{MTU: 1400, Offload: study.On}, slow, big}
	for i, m := range s.Modes {
		must.EqualFor(t, "lab of "+m.Name(), want[i], s.LabOf(m))
	}
	must.Equal(t, "host", s.BaselineOf(s.Modes[1], ""))
	if w := s.Workloads[0]; w.Slice != quantity.AtOnce || w.Warmup != quantity.WaitOf(study.BulkWarmup.Std()) {
		t.Errorf("slice %s and warm-up %s beside a rate", w.Slice, w.Warmup)
	}
}

// A mode on a lab of its own is compared with the baseline on the same lab, if the study
// has it there.
func TestBaselineOnItsLab(t *testing.T) {
	s := resolved(t, `
modes:
  - host
  - netns/bridge
  - {mode: netns/bridge, id: slow-bridge, lab: {rate: 900Mbit/s}}
  - {mode: host, id: slow, lab: {rate: 900Mbit/s}}
  - {mode: netns/bridge, id: big-bridge, lab: {mtu: 9000}}
workloads: [tcp_rr]
`, studytest.Catalog())
	for name, want := range map[string]string{"netns/bridge": "host", "slow-bridge": "slow", "big-bridge": "host"} {
		m, in := s.ModeNamed(name)
		got := s.BaselineOf(m, "host")
		must.True(t, in && got == want, "%s is compared with %q, want %q", name, got, want)
	}
}

// The profile standard leaves the length of bulk trials to the run, unless the study
// says how long they are; half of a pair of bounds gets the other.
func TestResolveLengths(t *testing.T) {
	cat := studytest.Catalog()
	cat.Workloads[0].Bulk = true
	const s = quantity.Duration(time.Second)
	for _, c := range []struct {
		profile, keys       string
		low, duration, high quantity.Duration
	}{
		{"standard", "", s, 4 * s, 15 * s},
		{"quick", "", 0, 3 * s / 2, 0},
		{"paper", "", 0, 60 * s, 0},
		{"standard", ", duration: 3s", 0, 3 * s, 0},
		{"standard", ", duration: 1s, duration_max: 5s", s, s, 5 * s},
		{"standard", ", duration: 30s, duration_min: 5s", 5 * s, 30 * s, 30 * s},
		{"quick", ", duration_max: 10s", s, 3 * s / 2, 10 * s},
		{"standard", ", duration_max: 1s", s, s, s},
		{"standard", ", duration_min: 20s", 20 * s, 20 * s, 20 * s},
	} {
		w := resolved(t, "profile: "+c.profile+"\nmodes: [host]\nworkloads: [{workload: tcp_stream"+c.keys+"}]\n", cat).Workloads[0]
		must.True(t, w.DurationMin == c.low && w.Duration == c.duration && w.DurationMax == c.high,
			"%s%s: %s in %s to %s, want %s in %s to %s", c.profile, c.keys, w.Duration, w.DurationMin, w.DurationMax, c.duration, c.low, c.high)
	}
}

// A profile's own defaults of a workload stand before the common ones and behind the
// study's; every and times go together.
func TestProfileDefaults(t *testing.T) {
	cat := studytest.Catalog()
	cat.Workloads[0].Profiles = map[string]study.Workload{study.Paper: {Streams: 50}, study.Standard: {Every: 2, Times: 3}}
	for _, c := range []struct {
		profile, keys         string
		streams, every, times int
	}{
		{"quick", "", 1, 0, 0}, {"paper", "", 50, 0, 0}, {"paper", ", streams: 8", 8, 0, 0},
		{"standard", "", 1, 2, 3}, {"standard", ", every: 1", 1, 1, 0}, {"standard", ", times: 5", 1, 0, 5},
	} {
		w := resolved(t, "profile: "+c.profile+"\nmodes: [host]\nworkloads: [{workload: tcp_stream"+c.keys+"}]\n", cat).Workloads[0]
		must.True(t, w.Streams == c.streams && w.Every == c.every && w.Times == c.times, "%s%s: %d streams, every %d, %d times", c.profile, c.keys, w.Streams, w.Every, w.Times)
	}
}

func TestRenewDue(t *testing.T) {
	for _, c := range []struct {
		renew study.Recreate
		takes time.Duration
		want  []int // of blocks 1 to 7
	}{
		{study.RecreateOnce(), 0, nil}, {study.RecreateEvery(1), time.Hour, []int{2, 3, 4, 5, 6, 7}}, {study.RecreateEvery(3), 0, []int{4, 7}},
		{study.RecreateAuto(), time.Second, []int{2, 3, 4, 5, 6, 7}}, {study.RecreateAuto(), study.RecreateQuick, []int{3, 5, 7}},
	} {
		var due []int
		for block := range 8 {
			if c.renew.Due(block, c.takes) {
				due = append(due, block)
			}
		}
		must.EqualFor(t, fmt.Sprintf("%s, %s", c.renew, c.takes), c.want, due)
	}
}

// Comparisons without an id are named after what they compare.
func TestComparisonName(t *testing.T) {
	for want, c := range map[string]study.Comparison{
		"x":                 {ID: "x", A: study.SideOf("a"), B: study.SideOf("b")},
		"a/b":               {A: study.SideOf("a"), B: study.SideOf("b")},
		"n/a / n/b":         {A: study.SideOf("n/a"), B: study.SideOf("n/b")},
		"(d/c)/(b/a)":       {A: study.Side{Of: "d", Over: "c"}, B: study.Side{Of: "b", Over: "a"}},
		"(n/d / c) / (b/a)": {A: study.Side{Of: "n/d", Over: "c"}, B: study.Side{Of: "b", Over: "a"}},
	} {
		must.EqualFor(t, fmt.Sprintf("%+v is named", c), want, c.Name())
	}
}

// The flags lay a control and a stop over a study, and leave a stop of its own alone.
func TestApplyMethod(t *testing.T) {
	on := study.Overrides{Set: map[string]string{"control": "true", "adaptive": "true"}}
	s, err := decode(t, "modes: [host]\nworkloads: [tcp_rr]\n").Apply(on, studytest.Catalog())
	must.Do(t, err)
	must.True(t, s.Control && s.Stop != nil, "control %t, stop %v", s.Control, s.Stop)
	s = must.Get(decode(t, "modes: [host]\nworkloads: [tcp_rr]\ncontrol: true\nstop: {width: 0.1}\n").Apply(on, studytest.Catalog()))(t)
	diff := cmp.Diff(&study.Stop{Width: 0.1}, s.Stop)
	must.True(t, diff == "" && s.Control, "control %t, stop (-want +got):\n%s", s.Control, diff)
	// A comparison goes with any of its names.
	s, err = decode(t, "modes: [host, netns/bridge, netns/vxlan]\nworkloads: [tcp_rr]\ncompare: [{a: [netns/vxlan, host], b: [netns/bridge, host]}]\n").
		Apply(study.Overrides{Modes: []string{"host", "netns/bridge"}}, studytest.Catalog())
	must.True(t, err == nil && len(s.Compare) == 0, "%v, %v", s.Compare, err)
}

// Many flows or pairs get longer slices and trials, unless the study says how long they are.
func TestLengthsForManyFlows(t *testing.T) {
	const ms = quantity.Duration(time.Millisecond)
	resolve := func(w study.Workload, bulk, many bool) (study.Study, error) {
		cat := studytest.Catalog()
		spec := &cat.Workloads[2]
		spec.Bulk, spec.ManyFlows = bulk, many
		spec.Lengths = map[string]study.Length{study.Quick: {Warmup: 50 * ms, Duration: 300 * ms, Slice: 20 * ms}}
		w.Kind = spec.Kind
		return study.Resolve(study.Study{Modes: []study.Mode{{Mode: "host"}}, Workloads: []study.Workload{w}}, cat)
	}
	for _, c := range []struct {
		asked           study.Workload
		bulk            bool
		slice, duration quantity.Duration
	}{
		{study.Workload{}, false, 20 * ms, 300 * ms},
		{study.Workload{Flows: 200}, false, 20 * ms, 300 * ms},
		{study.Workload{Flows: 1000}, false, 100 * ms, 500 * ms},
		{study.Workload{FlowCounts: study.Counts{1, 10000}}, false, 1000 * ms, 5000 * ms},
		{study.Workload{Flows: 10000, Duration: 2000 * ms}, false, 1000 * ms, 2000 * ms},
		{study.Workload{Flows: 10000, Slice: 200 * ms}, false, 200 * ms, 5000 * ms},
		{study.Workload{Pairs: 10}, false, 20 * ms, 1000 * ms},
		{study.Workload{Pairs: 100}, false, 200 * ms, 10000 * ms},
		{study.Workload{Flows: 50}, true, 100 * ms, 500 * ms},
	} {
		s := must.Get(resolve(c.asked, c.bulk, true))(t)
		if w := s.Workloads[0]; w.Slice != c.slice || w.Duration != c.duration {
			t.Errorf("%+v: slices of %s, %s timed; want %s and %s", c.asked, w.Slice, w.Duration, c.slice, c.duration)
		}
	}
	for _, asked := range []study.Workload{{Flows: 1001}, {FlowCounts: study.Counts{1, 1001}}} {
		must.Fail(t, must.Err(resolve(asked, false, false)), "flows is 1001; want at most 1000 for udp_stream")
	}
}

// A set-up has the blocks from one in which it is due to the next.
func TestRenewSetUps(t *testing.T) {
	for _, c := range []struct {
		renew study.Recreate
		takes time.Duration
		want  []int
	}{
		{study.RecreateAuto(), time.Second, []int{1, 1, 1, 1, 1, 1, 1}}, {study.RecreateAuto(), study.RecreateQuick, []int{2, 2, 2, 1}},
		{study.RecreateEvery(3), 0, []int{3, 3, 1}}, {study.RecreateOnce(), 0, []int{7}},
	} {
		must.EqualFor(t, c.renew.String(), c.want, c.renew.SetUps(7, c.takes))
	}
}
