package study

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"tare/internal/study/quantity"
)

// Resolve fills in everything that s leaves open: the profile and what follows from it,
// the lab, the parameters of each workload, and the baselines that the modes are compared
// with. What s sets stays, whatever the profile. Resolving twice changes nothing more. S
// itself is not changed. Only the seed stays open, because this package has no source of
// randomness: a caller that finds 0 sets it to SeedFrom of 64 random bits. It is an error
// to have no mode or no workload, more than MaxTrials trials, or a value that Decode would refuse.
// By default the rates are limited to Half on shared hosts, and the congestion control is AutoWord on restricted ones.
func Resolve(s Study, cat Catalog) (Study, error) {
	if err := valid(s, cat); err != nil {
		return Study{}, err
	}
	switch {
	case len(s.Modes) == 0:
		return Study{}, &Error{Text: "name at least one mode: under modes in the study, or with --modes"}
	case len(s.Workloads) == 0:
		return Study{}, &Error{Text: "name at least one workload: under workloads in the study, or with --workloads"}
	}
	s.Profile = cmp.Or(s.Profile, Quick)
	p := profileOf(s.Profile)
	open := s.Blocks == 0 && s.Stop == nil && !p.adaptive
	s = p.stopping(s)
	s.Pilot = cmp.Or(s.Pilot, p.pilot)
	s.Recreate = cmp.Or(s.Recreate, p.recreate)
	s.Invalid = s.Invalid.or(InvalidDefaults())
	s.Evidence = s.Evidence.or(evidenceDefaults())
	s.Margin = cmp.Or(s.Margin, p.margin)
	s.Settle = cmp.Or(s.Settle, p.settle)
	if lab := labDefaults(); !s.Target().Given() {
		s.Lab.MTU = cmp.Or(s.Lab.MTU, lab.MTU)
		s.Lab.Offload = cmp.Or(s.Lab.Offload, lab.Offload)
	}
	s.Modes = complete(s, cat)
	limited := s.Lab.Rate > 0
	for i, m := range s.Modes {
		spec, _ := cat.Mode(m.Mode)
		s.Modes[i].Limits = m.Limits.Or(s.Limits).Only(spec.Limits)
		s.Modes[i].Options, s.Modes[i].With = maps.Clone(m.Options), maps.Clone(m.With)
		if m.Lab != nil {
			own := s.LabOf(m)
			s.Modes[i].Lab = &own
			limited = limited || own.Rate > 0
		}
	}
	pass := passDefaults(s.Profile)
	if limited {
		pass.Warmup = pass.Warmup.AtLeast(BulkWarmup)
	}
	s.CostPass = s.CostPass.or(pass)
	if cat.Shared {
		s.Pace = cmp.Or(s.Pace, Half)
	}
	s.Workloads = slices.Clone(s.Workloads)
	for i, w := range s.Workloads {
		spec, _ := cat.Workload(w.Kind) // known: s is valid
		full, err := fill(w, cat.defaults(spec), s.Profile, limited, quota(s.Modes))
		if err != nil {
			return Study{}, err
		}
		s.Workloads[i] = full
	}
	if open && slices.ContainsFunc(s.Workloads, Workload.atOnce) {
		s.Blocks = min(s.Blocks, p.wholes)
	}
	if err := checkPace(s, cat); err != nil {
		return Study{}, err
	}
	// Checked again, because the catalog added values.
	if err := valid(s, cat); err != nil {
		return Study{}, fmt.Errorf("defaults of the catalog: %w", err)
	}
	if s.Sensitivity == On && len(s.Sensitivities()) == 0 {
		return Study{}, &Error{Text: "sensitivity: no workload has a setting that the pass varies: it takes tcp_stream without a rate, and exchanges without a schedule whose placement is one_core or two_cores, and no sweeps, searches or external tools; leave it out (--sensitivity)"}
	}
	if why := s.tooLarge(); why != "" {
		return Study{}, &Error{Text: why}
	}
	return s, nil
}

// stopping fills in the stopping rule of s. If s sets blocks without a stop, the number
// is fixed, in every profile.
func (p profile) stopping(s Study) Study {
	if s.Stop == nil && (s.Blocks > 0 || !p.adaptive) {
		s.Blocks = cmp.Or(s.Blocks, p.blocks)
		return s
	}
	stop, def := Stop{}, stopDefaults()
	if s.Stop != nil {
		stop = *s.Stop
	}
	stop.Width = cmp.Or(stop.Width, def.Width)
	stop.EffectWidth = cmp.Or(stop.EffectWidth, def.EffectWidth)
	stop.ExtraBlocks = cmp.Or(stop.ExtraBlocks, def.ExtraBlocks)
	s.Blocks = cmp.Or(s.Blocks, min(mostBlocks, max(p.most, cmp.Or(stop.MinBlocks, def.MinBlocks)+stop.ExtraBlocks)))
	stop.MinBlocks = cmp.Or(stop.MinBlocks, min(def.MinBlocks, s.Blocks))
	s.Stop = &stop
	return s
}

// or fills what i leaves open from def.
func (i Invalid) or(def Invalid) Invalid {
	return Invalid{
		Steal: cmp.Or(i.Steal, def.Steal), Others: cmp.Or(i.Others, def.Others), CPUWait: cmp.Or(i.CPUWait, def.CPUWait),
		Unsettled: cmp.Or(i.Unsettled, def.Unsettled), Most: cmp.Or(i.Most, def.Most),
	}
}

// SeedFrom converts 64 random bits to a seed, 1 to MaxSeed.
func SeedFrom(random uint64) uint64 { return random%MaxSeed + 1 }

// valid checks a study that did not come from a file.
func valid(s Study, cat Catalog) error {
	var errs []*Error
	for _, p := range Check(s, cat, nil) {
		errs = append(errs, &Error{Text: place(p.Path) + p.Text})
	}
	return Join(errs)
}

// withBaselines inserts each missing baseline before the first mode that is compared with
// it.
func withBaselines(modes []Mode, cat Catalog) []Mode {
	var all []Mode
	has := func(modes []Mode, mode string) bool {
		return slices.ContainsFunc(modes, func(m Mode) bool { return m.Mode == mode })
	}
	for _, m := range modes {
		spec, _ := cat.Mode(m.Mode)
		if b := spec.Baseline; b != "" && !has(modes, b) && !has(all, b) {
			all = append(all, Mode{Mode: b})
		}
		all = append(all, m)
	}
	return all
}

// forFlows lengthens the default slices and the default duration of a workload with many flows, streams
// or clients, so that each carries enough in a slice, and in a trial enough to prove its path. To start
// and end a slice takes 2 ms for each pair on two CPUs.
func (w Workload) forFlows(asked Workload, bulk bool) Workload {
	const perStream, perFlow, leastSlices = quantity.Duration(2 * time.Millisecond), quantity.Duration(100 * time.Microsecond), 5
	const pairSlice, perPair = quantity.Duration(2 * time.Millisecond), quantity.Duration(100 * time.Millisecond)
	_, list := asked.Concurrency()
	flows, pairs := max(1, asked.Flows, asked.Streams, w.Flows, w.Streams, list.most()), asked.Clients()
	if w.Slice == 0 || w.Slice == quantity.AtOnce || flows*pairs == 1 {
		return w
	}
	each := perFlow
	if bulk {
		each = perStream
	}
	needed := each * quantity.Duration(flows*pairs)
	if pairs > 1 {
		needed = max(needed, pairSlice*quantity.Duration(pairs))
	}
	if needed > w.Slice {
		w.Slice, w.Duration = needed, max(w.Duration, leastSlices*needed)
	}
	if pairs > 1 {
		w.Duration = max(w.Duration, perPair*quantity.Duration(pairs))
	}
	return w
}

// atOnce reports whether the slice of a resolved workload is no shorter than its trials.
func (w Workload) atOnce() bool { return w.Slice > 0 && w.Slice >= w.Duration }

// whole says why a workload's trials cannot be interleaved, empty if they can.
func whole(w Workload, spec WorkloadSpec) string {
	switch {
	case w.Tool != "" && w.Tool != BuiltIn:
		return w.Tool + " cannot run a trial in slices"
	case spec.ReverseWhole && w.Direction == Reverse:
		return spec.Kind + " in reverse cannot run in slices"
	case w.WithLoad != "":
		return "the load beside it needs longer than a slice to fill the path"
	case w.Event != "":
		return "its event happens once in a trial"
	}
	return ""
}

// quota reports whether the CPU time of a mode is limited. The kernel grants it in
// periods of 100 ms: an interleaved mode never uses up its quota in one, and would appear
// to have no limit.
func quota(modes []Mode) bool {
	return slices.ContainsFunc(modes, func(m Mode) bool { return m.Limits.Client.CPUs > 0 || m.Limits.Server.CPUs > 0 })
}

// fill sets the parameters that w's kind takes and w leaves open. On a path with a rate
// limit, and with limited CPU time, trials are not interleaved.
func fill(w Workload, spec WorkloadSpec, profile string, limited, quota bool) (Workload, error) {
	w.ID = w.Name()
	length := spec.Lengths[profile]
	def := layered(spec.defaults(profile), spec.Goals[cmp.Or(w.Goal, spec.defaults(profile).Goal)])
	def = fit(def, w)
	if w.ResponseMix != "" {
		def.ResponseSize = 0
	}
	if length.Warmup > 0 || !def.Warmup.Given {
		def.Warmup = quantity.WaitOf(length.Warmup.Std())
	}
	def.Duration = cmp.Or(length.Duration, def.Duration)
	def.Slice = cmp.Or(length.Slice, def.Slice, quantity.AtOnce)
	bulk := spec.Bulk || w.WithLoad != ""
	if limited && bulk {
		def.Slice, def.Warmup = quantity.AtOnce, def.Warmup.AtLeast(BulkWarmup)
	}
	if w.Event != "" {
		def.Warmup, def.Duration = def.Warmup.AtLeast(WholeWarmup), max(def.Duration, EventDuration)
	}
	if quota || whole(w, spec) != "" {
		def.Slice = quantity.AtOnce
		if bulk {
			def.Warmup = def.Warmup.AtLeast(WholeWarmup)
		}
	}
	def = def.forFlows(w, spec.Bulk)
	if slices.Contains(spec.Params, "slice") && cmp.Or(w.Slice, def.Slice) >= def.Duration {
		def.Duration = max(def.Duration, WholeDuration)
	}
	if w.PacketRate > 0 {
		def.Rate = 0
	}
	if w.Every == 0 && w.Times == 0 {
		w.Every, w.Times = def.Every, def.Times
	}
	w = w.bounded(&def, spec, profileOf(profile).lengths)
	to, from := w.Fields(), def.Fields()
	for _, key := range spec.Params {
		f, ok := Find(to, key)
		if !ok {
			return Workload{}, fmt.Errorf("catalog: %s takes %q, which is not a key of studies", spec.Kind, key)
		}
		if f.Value.IsZero() {
			d, _ := Find(from, key)
			f.Value.Set(d.Value)
		}
		replaced := key == "rate" && w.PacketRate > 0 || key == "response_size" && w.ResponseMix != ""
		if f.Value.IsZero() && !replaced {
			return Workload{}, fmt.Errorf("catalog: %s has no default for %s in profile %s", spec.Kind, key, profile)
		}
	}
	// The values that an absent key has: written or not, the trials are the same.
	if w.Wait == Sleep {
		w.Wait = ""
	}
	if w.Scheduling == OtherScheduling {
		w.Scheduling = ""
	}
	if w.FanIn == 1 {
		w.FanIn = 0
	}
	ownLists(&w) // do not share the catalog's
	if w.NoDelay != nil {
		own := *w.NoDelay // do not share the catalog's or the source study's
		w.NoDelay = &own
	}
	return w, nil
}

// bounded fills in the bounds within which the run may choose w's timed window: the
// missing one if w has one of them, and both for a bulk workload with an open window if
// the profile requires it. The default of the window is moved into the bounds.
func (w Workload) bounded(def *Workload, spec WorkloadSpec, wanted bool) Workload {
	given := w.DurationMin != 0 || w.DurationMax != 0
	open := wanted && spec.Bulk && w.Duration == 0
	if !slices.Contains(spec.Params, "duration") || !given && !open {
		return w
	}
	at := cmp.Or(w.Duration, def.Duration)
	w.DurationMin = cmp.Or(w.DurationMin, min(ShortestChosen, cmp.Or(w.Duration, ShortestChosen), cmp.Or(w.DurationMax, ShortestChosen)))
	w.DurationMax = cmp.Or(w.DurationMax, max(LongestChosen, w.Duration, w.DurationMin))
	def.Duration = min(max(at, w.DurationMin), w.DurationMax)
	return w
}

// defaults returns a kind with the defaults that it has on the hosts of the catalog.
func (c Catalog) defaults(spec WorkloadSpec) WorkloadSpec {
	if c.Restricted && spec.Defaults.Congestion != "" {
		spec.Defaults.Congestion = AutoWord
	}
	return spec
}

// defaults are the defaults of a kind in a profile.
func (w WorkloadSpec) defaults(profile string) Workload {
	return layered(w.Defaults, w.Profiles[profile])
}
