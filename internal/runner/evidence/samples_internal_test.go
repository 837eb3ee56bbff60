package evidence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/observe/stacks"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// recordedStacks samples the stacks that were recorded of modes, in the order of the trials, and notes
// when it is on.
type recordedStacks struct {
	t      *testing.T
	modes  []string
	began  time.Time
	calls  []string
	of     []*stacks.Samples // of which trial each window was, in the order of their first
	took   []time.Duration   // of its windows
	start  time.Time
	breaks map[string]error // by call
}

func (r *recordedStacks) call(what string) error {
	r.calls = append(r.calls, what+" "+time.Since(r.began).String())
	return r.breaks[what]
}

func (r *recordedStacks) Start(into *stacks.Samples) error {
	r.start = time.Now()
	if !slices.Contains(r.of, into) {
		r.of, r.took = append(r.of, into), append(r.took, 0)
	}
	return r.call("start")
}

func (r *recordedStacks) Pause() error {
	r.took[len(r.took)-1] += time.Since(r.start)
	return r.call("pause")
}
func (r *recordedStacks) Identify() error { return r.breaks["identify"] }
func (r *recordedStacks) Close() error    { return r.call("close") }

func (r *recordedStacks) Profile(of *stacks.Samples) (out stacks.Profile, err error) {
	i := slices.Index(r.of, of)
	if i < 0 {
		return out, nil
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "observe", "stacks", "testdata", r.modes[i]+".folded"))
	if err == nil {
		out.Stacks, err = stacks.Read(data)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	for _, n := range out.Stacks {
		out.Busy += n
	}
	out.CPUs, out.Elapsed, out.Idle = 2, r.took[i], 5
	return out, r.breaks["profile"]
}

// sampled are trials of the cost pass of which recorded stacks are sampled, and what is written.
func sampled(t *testing.T, breaks map[string]error, modes ...string) (r *recordedStacks, group []*Trial, files map[string]string, warnings *told) {
	t.Helper()
	r, files, warnings = &recordedStacks{t: t, modes: modes, began: time.Now(), breaks: breaks}, map[string]string{}, &told{}
	o := New(Config{Asked: study.Evidence{Stacks: study.On}, Hosts: labdriver.Hosts(), Warn: warnings.warn, CPU: &script{t: t},
		OpenStacks: func() (StackSampler, error) { return r, breaks["open"] },
		AppendFile: func(name string, data []byte) error { files[name] += string(data); return breaks["append"] }})
	for _, m := range modes {
		p := plan.Trial{Block: 1, Mode: m, Workload: study.Workload{ID: study.CostPassID, Warmup: quantity.WaitOf(time.Second), Duration: quantity.Duration(2 * time.Second)}}
		group = append(group, o.Trial(p, mode{}, &result.Trial{}, func() bool { return false }))
	}
	return r, group, files, warnings
}

// The window of a trial is sampled after its warm-up, and no longer than it lasts. What is recorded is
// its components, and its folded stacks in a file.
func TestSampledWindow(t *testing.T) {
	for takes, want := range map[time.Duration]string{
		5 * time.Second: "start 1s, pause 3s, close 5s", 2500 * time.Millisecond: "start 1s, pause 2.5s, close 2.5s", time.Second / 2: "close 500ms",
	} {
		synctest.Test(t, func(t *testing.T) {
			r, group, files, warnings := sampled(t, nil, "netns-vxlan")
			s := group[0].observer.Sampling(group)
			s.Window(group[0], func() { time.Sleep(takes) })
			s.Record()
			if got := strings.Join(r.calls, ", "); got != want || len(*warnings) != 0 {
				t.Errorf("calls %q, want %q; warnings %v", got, want, *warnings)
			}
			got := group[0].Record.Stacks
			if takes < time.Second {
				must.True(t, got == nil && len(files) == 0, "without a sample: %+v, files %v", got, files)
				return
			}
			sum := 0
			for _, n := range got.Components {
				sum += n
			}
			if want := min(takes, 3*time.Second) - time.Second; got.Seconds != want.Seconds() || got.Rate != stacks.Rate || got.CPUs != 2 || got.Idle != 5 || got.Busy == 0 || sum != got.Busy {
				t.Errorf("stacks %+v, want %s", got, want)
			}
			must.True(t, got.Components["VXLAN"] != 0 && got.Components["macvlan/ipvlan"] == 0, "components %v", got.Components)
			if text := files[result.StacksFile("netns-vxlan", study.CostPassID)]; len(files) != 1 || !strings.Contains(text, "vxlan_xmit") {
				t.Errorf("%d files, %d bytes", len(files), len(text))
			}
		})
	}
}

// Each interleaved trial has the samples of its own slices, all of them.
func TestSampledSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, group, files, _ := sampled(t, nil, "host", "netns-vxlan")
		s := group[0].observer.Sampling(group)
		for _, one := range group {
			for range 3 {
				s.Slice(one, func() { time.Sleep(50 * time.Millisecond) })
			}
		}
		s.Record()
		host, vxlan := group[0].Record.Stacks, group[1].Record.Stacks
		must.True(t, host.Seconds == 0.15 && vxlan.Seconds == 0.15 && host.Components["VXLAN"] == 0 && vxlan.Components["VXLAN"] != 0 && len(files) == 2,
			"host %+v, vxlan %+v, %d files", host, vxlan, len(files))
	})
}

// A sampler that fails costs the trial its breakdown, with a warning, and nothing else.
func TestSamplerFails(t *testing.T) {
	for call, want := range map[string]string{
		"start": "of a trial: broken", "pause": "of a trial: broken", "identify": "of a trial: broken", "profile": "of a trial: broken", "append": "cannot write the folded stacks: broken",
	} {
		synctest.Test(t, func(t *testing.T) {
			_, group, _, warnings := sampled(t, map[string]error{call: errors.New("broken")}, "host")
			s := group[0].observer.Sampling(group)
			s.Slice(group[0], func() { time.Sleep(time.Second) })
			s.Record()
			if w := *warnings; len(w) != 1 || !strings.HasSuffix(w[0].Text, want) || w[0].Scope != "host "+study.CostPassID {
				t.Errorf("%s: warnings %v", call, w)
			}
		})
	}
}

// Whether stacks can be sampled is known before trials that have no other purpose.
func TestCanSample(t *testing.T) {
	broken := errors.New("broken")
	for call, want := range map[string]struct {
		can bool
		err error
	}{"": {true, nil}, "open": {false, nil}, "close": {true, broken}} {
		_, group, _, warnings := sampled(t, map[string]error{call: broken}, "host")
		can, err := group[0].observer.CanSample()
		if d := cmp.Diff(want.can, can); d != "" || !errors.Is(err, want.err) || len(*warnings) > 0 != (call == "open") {
			t.Errorf("%s fails: %t, %v, warnings %v", call, can, err, *warnings)
		}
	}
}

// If stacks cannot be sampled, the run reports that once and continues.
func TestNoStacksIsToldOnce(t *testing.T) {
	var warnings told
	hosts := []driver.Host{{Name: "a"}} // of which nothing is known here
	passing := trialOf(Config{Asked: study.Evidence{Stacks: study.AutoWord}, Hosts: hosts, Warn: warnings.warn}, mode{}, plan.Trial{Block: 1, Workload: study.Workload{ID: study.CostPassID}})
	o := passing.observer
	for range 3 {
		must.EqualFor(t, "sampling", (*Sampling)(nil), o.Sampling([]*Trial{passing}))
	}
	must.True(t, len(warnings) == 1 && warnings[0].Code == "stacks_unavailable", "warnings %+v", warnings)
	done := 0
	var none *Sampling
	none.Window(passing, func() { done++ })
	none.Slice(passing, func() { done++ })
	none.Record()
	must.EqualFor(t, "without sampling", []any{2, (*result.Stacks)(nil)}, []any{done, passing.Record.Stacks})
}

func TestWantsStacks(t *testing.T) {
	pass, other, own := plan.Trial{Workload: study.Workload{ID: study.CostPassID}}, plan.Trial{Block: 1, Workload: study.Workload{ID: "t"}}, plan.Trial{Block: 1, Profiled: true}
	for _, tt := range []struct {
		word  string
		trial plan.Trial
		want  bool
	}{
		{study.AutoWord, pass, true}, {study.On, pass, true}, {study.Off, pass, false}, {"", pass, false},
		{study.On, other, false}, {study.AutoWord, other, false}, {study.On, own, true},
	} {
		o := New(Config{Asked: study.Evidence{Stacks: tt.word}})
		must.EqualFor(t, fmt.Sprintf("%q, %+v", tt.word, tt.trial), tt.want, o.wantsStacks(tt.trial))
	}
}
