package study

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tare/internal/study/suggest"
)

// Overrides are the settings of the command line; zero values leave the study unchanged.
type Overrides struct {
	Target    Target            // replaces the study's, engine, hosts and cluster alike; see Target.Check
	Modes     []string          // names or modes; replaces the study's, see Apply
	Workloads []string          // ids or kinds; replaces the study's, see Apply
	For       string            // the name of a Purpose, whose workloads replace the study's
	AdHoc     bool              // no study was named: the run is named by its modes, unless Set has a name
	Evidence  string            // on or off for all evidence; empty leaves it unchanged
	Set       map[string]string // the texts of further flags, by their names, see Flags
}

// Apply merges o into s. Call it between Decode and Resolve: a profile given here
// determines what the file leaves open, and what the file sets (blocks, a duration)
// stays. It has no such effect on a resolved study, which sets everything. A name in
// o.Workloads selects the study's workload of that id with its parameters; else all of
// the study's workloads of that kind; else it adds the kind with its defaults. The same
// applies to o.Modes. Scenarios, comparisons and claims of omitted modes and workloads are
// omitted, too. Errors name the flag. S itself is not changed.
func (s Study) Apply(o Overrides, cat Catalog) (Study, error) {
	s.Claims = s.withWorkloads()
	var errs []*Error
	fail := func(flag, text string) { errs = append(errs, &Error{Text: flag + ": " + text}) }
	if o.Target.Name != "" || len(o.Target.Hosts) > 0 || o.Target.Cluster != nil {
		s.Engine, s.Hosts, s.Cluster = o.Target.Name, o.Target.Hosts, o.Target.Cluster
	}
	if len(o.Modes) > 0 {
		v := validator{cat: cat}
		modes := s.pickModes(o.Modes)
		v.modes(modes)
		for _, p := range v.problems {
			fail("--modes", p.Text)
		}
		s.Modes = modes
	}
	if o.For != "" {
		purpose, known := purposeNamed(o.For)
		switch {
		case !known:
			fail("--for", suggest.Unknown("purpose", o.For, "", PurposeNames()))
		case len(o.Workloads) > 0:
			fail("--for", "it chooses the workloads, as --workloads does; leave out one of them")
		}
		s.Workloads, s.Title = purpose.Workloads, strings.TrimSpace(s.Title+", for "+purpose.Title)
	}
	if len(o.Workloads) > 0 {
		picked, problems := s.pick(o.Workloads, cat)
		for _, text := range problems {
			fail("--workloads", text)
		}
		s.Workloads = picked
	}
	if o.AdHoc && len(s.Modes) > 0 && len(o.Modes) > 0 {
		s.Name, s.Title, s.Description = adHoc(s.Modes), "The overhead of "+strings.Join(o.Modes, ", "), ""
	}
	if o.Evidence != "" {
		if s.Evidence = EvidenceOf(o.Evidence); s.Evidence == (Evidence{}) {
			fail("--evidence", suggest.Quote(o.Evidence)+" is not valid; want on or off")
		}
	}
	for _, f := range s.Flags() {
		if text, given := o.Set[f.Flag.Name]; given {
			if wrong := f.setByFlag(text); wrong != "" {
				errs = append(errs, &Error{Text: wrong})
			}
		}
	}
	if err := Join(errs); err != nil {
		return Study{}, err
	}
	if (len(o.Modes)+len(o.Workloads) > 0 || o.For != "") && len(s.Modes) > 0 && len(s.Workloads) > 0 {
		s = s.narrow(cat)
	}
	return s, nil
}

// adHoc is a name for a run of modes: theirs, but for the baselines.
func adHoc(modes []Mode) string {
	var parts []string
	for _, m := range modes {
		if name := m.Name(); name != "host" && name != "host-local" {
			parts = append(parts, name)
		}
	}
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.-", r)) {
			return r
		}
		return '-'
	}, strings.ToLower(strings.Join(parts, "_")))
	if name = strings.Trim(name[:min(len(name), mostAdHoc)], "-_."); name == "" {
		return "host"
	}
	return name
}

// mostAdHoc is how long such a name may be.
const mostAdHoc = 48

// pickModes resolves names to modes: the study's mode of that name, else all of the
// study's that are that mode, else the mode itself.
func (s Study) pickModes(names []string) []Mode {
	var picked []Mode
	for _, name := range names {
		if m, ok := s.ModeNamed(name); ok {
			picked = append(picked, m)
			continue
		}
		before := len(picked)
		for _, m := range s.Modes {
			if m.Mode == name {
				picked = append(picked, m)
			}
		}
		if len(picked) == before {
			picked = append(picked, Mode{Mode: name})
		}
	}
	return picked
}

// narrow removes the scenarios whose mode or workload the command line excludes, and the
// comparisons and claims that refer to them.
func (s Study) narrow(cat Catalog) Study {
	modes, workloads := named(s, cat), s.Names()
	ids := slices.Clone(modes)
	var scenarios []Scenario
	for _, sc := range s.Scenarios {
		if slices.Contains(modes, sc.Mode) && slices.Contains(workloads, sc.Workload) {
			scenarios, ids = append(scenarios, sc), append(ids, sc.ID)
		}
	}
	var compare []Comparison
	for _, c := range s.Compare {
		if !slices.ContainsFunc(append(c.A.Names(), c.B.Names()...), func(name string) bool { return !slices.Contains(ids, name) }) {
			compare = append(compare, c)
		}
	}
	var claims []Claim
	for _, c := range s.Claims {
		excluded := slices.ContainsFunc(slices.Concat(c.Of, c.Over), func(name string) bool { return !slices.Contains(ids, name) })
		if !excluded && (c.Workload == "" || slices.Contains(workloads, c.Workload)) {
			claims = append(claims, c)
		}
	}
	s.Scenarios, s.Compare, s.CostByParts, s.Claims = scenarios, compare, s.CostByParts.narrow(modes), claims
	return s
}

// withWorkloads returns the claims, each with the workload of its modes: the command line may select
// others, which must not decide what a claim is about.
func (s Study) withWorkloads() []Claim {
	claims := slices.Clone(s.Claims)
	for i, c := range claims {
		if len(s.Workloads) != 1 || c.Workload != "" {
			continue
		}
		for _, name := range slices.Concat(c.Of, c.Over) {
			if _, scenario := s.Scenario(name); !scenario {
				claims[i].Workload = s.Workloads[0].Name()
			}
		}
	}
	return claims
}

// pick resolves names to workloads, each once.
func (s Study) pick(names []string, cat Catalog) (picked []Workload, problems []string) {
	known := cat.Kinds()
	for _, w := range s.Workloads {
		if !slices.Contains(known, w.Name()) {
			known = append(known, w.Name())
		}
	}
	seen := map[string]bool{}
	for _, name := range names {
		found := s.named(name)
		if len(found) == 0 {
			if _, ok := cat.Workload(name); !ok {
				problems = append(problems, suggest.Unknown("workload", name, "", known))
				continue
			}
			found = []Workload{{Kind: name}}
		}
		for _, w := range found {
			if seen[w.Name()] {
				problems = append(problems, fmt.Sprintf("%q is named twice", w.Name()))
				continue
			}
			seen[w.Name()] = true
			picked = append(picked, w)
		}
	}
	return picked, problems
}

// named returns the study's workload of that id, else those of that kind.
func (s Study) named(name string) []Workload {
	var found []Workload
	for _, w := range s.Workloads {
		if w.Name() == name {
			return []Workload{w}
		}
		if w.Kind == name {
			found = append(found, w)
		}
	}
	return found
}
