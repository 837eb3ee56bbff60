package studyfile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// maybe draws from g or leaves the zero value.
func maybe[T any](t *rapid.T, label string, g *rapid.Generator[T]) T {
	var zero T
	if rapid.Bool().Draw(t, label+"?") {
		return g.Draw(t, label)
	}
	return zero
}

func durations(from, to time.Duration) *rapid.Generator[quantity.Duration] {
	return rapid.Map(rapid.Int64Range(int64(from), int64(to)), func(n int64) quantity.Duration { return quantity.Duration(n) })
}

func waits(from, to time.Duration) *rapid.Generator[quantity.Wait] {
	return rapid.Map(durations(from, to), func(d quantity.Duration) quantity.Wait { return quantity.WaitOf(d.Std()) })
}

// prose draws text that YAML writers stumble over.
func prose(most int, controls string) *rapid.Generator[string] {
	letters := rapid.OneOf(
		rapid.SampledFrom([]rune("  x#:"+controls+controls)),
		rapid.SampledFrom([]rune(" #:-?&*!|>'\"%@`{}[],\\~=<0ynoé\u2028\u2029\ufeff\ufffe\uffff\U0001f600"+controls)),
		rapid.Rune(),
	)
	return rapid.Map(rapid.SliceOfN(letters, 0, most), func(rs []rune) string {
		return strings.Map(func(r rune) rune {
			if (r < 0x20 || r >= 0x7f && r < 0xa0) && !strings.ContainsRune(controls, r) {
				return -1
			}
			return r
		}, string(rs))
	})
}

func buffers() *rapid.Generator[quantity.BufferSize] {
	return rapid.OneOf(rapid.Just(quantity.AutoBuffer()), rapid.Map(rapid.Int64Range(4<<10, 1<<30), func(n int64) quantity.BufferSize {
		return quantity.Buffer(quantity.Size(n))
	}))
}

func shares() *rapid.Generator[quantity.Share] {
	return rapid.OneOf(rapid.Just(quantity.NotApplied()), rapid.Map(rapid.Float64Range(0.001, 1), func(x float64) quantity.Share { return quantity.ShareOf(x) }))
}

func drawNetwork(t *rapid.T) study.Network {
	return study.Network{RTT: durations(time.Microsecond, study.LongestRTT).Draw(t, "rtt"), Like: maybe(t, "like", rapid.SampledFrom([]string{"ssh://web1", "ssh://me@[2001:db8::1]:2222"}))}
}

// drawStop draws what goes with any number of blocks.
func drawStop(t *rapid.T) *study.Stop {
	if !rapid.Bool().Draw(t, "stop?") {
		return nil
	}
	return &study.Stop{
		MinBlocks: maybe(t, "min blocks", rapid.Just(2)), Width: maybe(t, "width", rapid.Float64Range(0.001, 0.5)),
		ExtraBlocks: maybe(t, "extra blocks", rapid.IntRange(1, 100)),
	}
}

// drawPass draws a pass that keeps to the rule for its first block.
func drawPass(t *rapid.T) study.CostPass {
	rates := rapid.OneOf(rapid.SampledFrom([]quantity.PassRate{quantity.PassAuto, quantity.NoPass}),
		rapid.Map(rapid.Uint64Range(1e6, 400e9), func(n uint64) quantity.PassRate { return quantity.PassRate(n) }))
	return study.CostPass{
		Rate: maybe(t, "pass rate", rates), FromBlock: maybe(t, "from block", rapid.IntRange(2, 1000)),
		Every: maybe(t, "pass every", rapid.IntRange(1, 1000)), Times: maybe(t, "pass times", rapid.IntRange(1, 1000)),
		Warmup: maybe(t, "pass warmup", waits(0, 10*time.Minute)), Duration: maybe(t, "pass duration", durations(100*time.Millisecond, time.Hour)),
	}
}

func drawLab(t *rapid.T) study.Lab {
	return study.Lab{
		MTU:     maybe(t, "mtu", rapid.IntRange(1280, 9000)),
		Rate:    quantity.Rate(maybe(t, "rate", rapid.Uint64Range(1e6, 400e9))),
		Offload: maybe(t, "offload", rapid.SampledFrom([]string{study.On, study.Off})),
	}
}

// drawWorkload sets some of what its kind takes.
func drawWorkload(t *rapid.T, id string) study.Workload {
	w := study.Workload{
		ID:            id,
		Kind:          rapid.SampledFrom([]string{"tcp_stream", "tcp_rr"}).Draw(t, "kind"),
		Family:        maybe(t, "family", rapid.SampledFrom([]string{study.IPv4, study.IPv6})),
		Congestion:    maybe(t, "congestion", rapid.StringMatching(`[a-z0-9_]{1,15}`)),
		SendBuffer:    maybe(t, "send buffer", buffers()),
		ReceiveBuffer: maybe(t, "receive buffer", buffers()),
		Placement:     maybe(t, "placement", rapid.SampledFrom([]string{study.OneCore, study.TwoCores, study.Free})),
		Warmup:        maybe(t, "warmup", waits(0, 10*time.Minute)),
		Duration:      maybe(t, "duration", durations(100*time.Millisecond, time.Hour)),
		Every:         maybe(t, "every", rapid.IntRange(1, 1000)),
		Times:         maybe(t, "times", rapid.IntRange(1, 1000)),
	}
	if rapid.Bool().Draw(t, "bounds") {
		at := max(w.Duration, quantity.Duration(100*time.Millisecond))
		w.DurationMin = maybe(t, "shortest", durations(100*time.Millisecond, at.Std()))
		w.DurationMax = maybe(t, "longest", durations(at.Std(), time.Hour))
	}
	if w.Kind == "tcp_stream" {
		if w.Streams = maybe(t, "streams", rapid.IntRange(1, 1000)); w.Streams == 0 && rapid.Bool().Draw(t, "several numbers of streams") {
			w.StreamCounts = slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.IntRange(1, 1000), 1, 5, rapid.ID[int]).Draw(t, "stream counts")))
		}
		w.WriteSize = quantity.Size(maybe(t, "write size", rapid.Int64Range(1, 16<<20)))
		w.NoDelay = maybe(t, "no delay", rapid.Ptr(rapid.Bool(), true))
		w.Direction = maybe(t, "direction", rapid.SampledFrom([]string{study.Forward, study.Reverse}))
	}
	return w
}

func drawLimit(t *rapid.T) study.Limit {
	return study.Limit{
		CPUs:   maybe(t, "cpus", rapid.Float64Range(0.01, 1024)),
		Memory: quantity.Size(maybe(t, "memory", rapid.Int64Range(6<<20, 1<<40))),
	}
}

func drawLimits(t *rapid.T) study.Limits {
	return study.Limits{Client: drawLimit(t), Server: drawLimit(t)}
}

// drawMode says some of what a mode takes.
func drawMode(t *rapid.T, spec study.Offer) study.Mode {
	m := study.Mode{
		Mode:        strings.Replace(spec.ID, ":NAME", ":"+rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.:/-]{0,20}`).Draw(t, "name"), 1),
		ID:          maybe(t, "mode id", rapid.StringMatching(`m[A-Z0-9]{8}`)),
		Title:       maybe(t, "mode title", prose(60, "")),
		Description: maybe(t, "mode description", prose(60, "\n\t")),
		Limits:      maybe(t, "mode limits", rapid.Custom(drawLimits)).Only(spec.Limits),
	}
	if rapid.Bool().Draw(t, "mode's lab") {
		own := drawLab(t)
		m.Lab = &own
	}
	if spec.MTU {
		m.MTU = maybe(t, "mode mtu", rapid.IntRange(1280, 9000))
	}
	if spec.Options && rapid.Bool().Draw(t, "options") {
		m.Options = rapid.MapOfN(rapid.StringMatching(`[a-z.]{1,10}`), prose(20, ""), 1, 4).Draw(t, "options")
	}
	return m
}

// fitting is a mode whose tunnel fits into a lab's underlay.
func fitting(m study.Mode, lab, headers int) study.Mode {
	if lab == 0 {
		lab = 1500
	}
	if headers > 0 {
		m.MTU = min(m.MTU, lab-headers)
	}
	if m.MTU < 1280 {
		m.MTU = 0
	}
	return m
}

// studies draws a study that Resolve takes.
func studies() *rapid.Generator[study.Study] {
	return rapid.Custom(func(t *rapid.T) study.Study {
		s := study.Study{
			Name:        maybe(t, "name", rapid.StringMatching(`[a-z0-9][a-z0-9_.-]{0,63}`)),
			Title:       maybe(t, "title", prose(200, "")),
			Description: maybe(t, "description", prose(300, "\n\t")),
			Profile:     maybe(t, "profile", rapid.SampledFrom(study.Profiles())),
			Seed:        maybe(t, "seed", rapid.Uint64Range(1, study.MaxSeed)),
			Blocks:      maybe(t, "blocks", rapid.IntRange(2, 1000)),
			Margin:      maybe(t, "margin", rapid.Float64Range(0.001, 0.5)),
			Settle:      maybe(t, "settle", waits(0, time.Minute)),
			Stop:        drawStop(t),
			Control:     rapid.Bool().Draw(t, "control"),
			Pilot:       maybe(t, "pilot", rapid.OneOf(rapid.Just(quantity.WaitOf(0)), waits(time.Second, 10*time.Minute))),
			Recreate:    maybe(t, "renew", rapid.OneOf(rapid.SampledFrom([]study.Recreate{study.RecreateOnce(), study.RecreateAuto()}), rapid.Map(rapid.IntRange(1, 1000), func(n int) study.Recreate { return study.RecreateEvery(n) }))),
			Invalid: study.Invalid{
				Steal: maybe(t, "steal", shares()), Others: maybe(t, "others", shares()), Most: maybe(t, "most", shares()),
				Unsettled: maybe(t, "unsettled", rapid.SampledFrom([]string{study.On, study.Off})),
			},
			Evidence: study.Evidence{
				Counters: maybe(t, "counters", rapid.SampledFrom([]string{study.On, study.Off})),
				Stacks:   maybe(t, "stacks", rapid.SampledFrom([]string{study.On, study.Off, study.AutoWord})),
				Drops:    maybe(t, "drops", rapid.SampledFrom([]string{study.On, study.Off, study.AutoWord})),
			},
			CostPass: maybe(t, "cost pass", rapid.Custom(drawPass)),
			MaxTime:  maybe(t, "max time", durations(time.Second, 720*time.Hour)),
			Lab:      drawLab(t),
			Network:  maybe(t, "network", rapid.Custom(drawNetwork)),
		}
		modes := studytest.Catalog().Modes
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(modes)-1), 1, -1, rapid.ID[int]).Draw(t, "modes") {
			m := drawMode(t, modes[i])
			if m.ID != "" {
				m.ID += fmt.Sprint(i) // of one mode alone
			}
			s.Modes = append(s.Modes, m)
		}
		s.Limits = maybe(t, "limits", rapid.Custom(drawLimits))
		if !rapid.Bool().Draw(t, "on a lab") {
			for i := range s.Modes {
				s.Modes[i].Lab = nil
			}
			s.Lab, s.Engine = study.Lab{}, maybe(t, "engine", rapid.SampledFrom([]string{"docker", "docker:x", "ssh://me@there"}))
		}
		for i, m := range s.Modes {
			spec, _ := studytest.Catalog().Mode(m.Mode)
			s.Modes[i] = fitting(m, s.LabOf(m).MTU, spec.Headers)
		}
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`w[0-9]{1,3}`), 1, 4, rapid.ID[string]).Draw(t, "ids")
		for _, id := range ids {
			s.Workloads = append(s.Workloads, drawWorkload(t, id))
		}
		if rapid.Bool().Draw(t, "named by its kind") {
			s.Workloads[0].ID = ""
		}
		for i, m := range s.Modes {
			if rapid.Bool().Draw(t, "a scenario") {
				w := rapid.SampledFrom(s.Workloads).Draw(t, "its workload").Name()
				s.Scenarios = append(s.Scenarios, study.Scenario{ID: fmt.Sprintf("S%d", i), Title: maybe(t, "its title", prose(50, "")), Mode: m.Name(), Workload: w})
			}
			if i > 0 && rapid.Bool().Draw(t, "a comparison") {
				s.Compare = append(s.Compare, study.Comparison{A: study.SideOf(m.Name()), B: study.SideOf(s.Modes[i-1].Name()), Expect: maybe(t, "expect", rapid.Float64Range(0.001, 1000))})
			}
			if i > 1 && rapid.Bool().Draw(t, "a comparison of ratios") {
				a, b, c := m.Name(), s.Modes[i-1].Name(), s.Modes[i-2].Name()
				s.Compare = append(s.Compare, study.Comparison{A: study.Side{Of: a, Over: b}, B: study.Side{Of: b, Over: c}})
			}
		}
		return s
	})
}

// TestRoundTrip: a study is read back as it was written, open or resolved, and
// resolving what is resolved changes nothing.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := studies().Draw(t, "study")
		again(t, s)
		before, err := studyfile.Marshal(s)
		must.Require(t, err == nil, "marshal: %v", err)
		full, err := study.Resolve(s, studytest.Catalog())
		must.Require(t, err == nil, "resolve: %v\n%s", err, before)
		again(t, full)
		after, _ := studyfile.Marshal(s)
		must.Require(t, string(after) == string(before), "Resolve changed its argument:\n%s\n%s", before, after)
		twice, err := study.Resolve(full, studytest.Catalog())
		must.Require(t, err == nil, "resolve twice: %v", err)
		must.EqualFor(t, "resolved twice (-once +twice)", full, twice)
	})
}

// TestSchemaTakesStudies: what Resolve and Marshal make is good by the schema.
func TestSchemaTakesStudies(t *testing.T) {
	check := schemaCheck(t)
	rapid.Check(t, func(t *rapid.T) {
		s := studies().Draw(t, "study")
		if rapid.Bool().Draw(t, "resolved") {
			var err error
			if s, err = study.Resolve(s, studytest.Catalog()); err != nil {
				t.Fatal(err)
			}
		}
		text := must.Get(studyfile.Marshal(s))(t)
		if err := check(text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}
