// Package report makes what people read of a run: a table for the terminal, a
// Markdown page, one self-contained HTML page, and figures as SVG.
//
// All of them show the same things in the same words: every mode, measured or
// not, with the reason where not; every figure with its interval; the verdict in
// words; what was ruled out; what a careful reader must be warned of. They work
// on what there is: a run that was interrupted before its first trial is a
// report too.
package report

import (
	"slices"

	"tare/internal/report/say"
	"tare/internal/result"
)

// Input is what a report is made of. Everything in it may come from outside and
// is cleaned and escaped for where it is shown.
type Input struct {
	Run         result.Run
	Trials      []result.Trial
	Title       string // of the study; the run's id when empty
	Description string
	Command     string // how to repeat the run; not shown when empty
	// FiguresDir is where, relative to the Markdown page, the files of Figures
	// are; the page shows no figures when it is empty.
	FiguresDir string
}

// clean copies in with every string fit to be shown on one line, and without the
// figures of modes that were not measured: a mode that is void, unsupported or
// failed has none, whatever a file says.
func (in Input) clean() Input {
	in.Title = say.Clean(in.Title)
	in.Description = say.CleanLines(in.Description)
	in.Command = say.Clean(in.Command)
	in.Run = cleanRun(in.Run)
	in.Trials = cleanTrials(in.Trials)
	unfit := map[string]bool{}
	for _, m := range in.Run.Modes {
		unfit[m.ID] = unmeasured(m)
	}
	var cells []result.Cell
	for _, c := range in.Run.Cells {
		if !unfit[c.Mode] {
			cells = append(cells, c)
		}
	}
	in.Run.Cells = cells
	withoutUnfit(&in.Run, unfit)
	for i, c := range in.Run.Comparisons {
		if slices.ContainsFunc(slices.Concat(c.A.Terms(), c.B.Terms()), func(s *result.Side) bool { return unfit[s.Mode] }) {
			in.Run.Comparisons[i] = withoutFigures(c)
		}
	}
	for i, t := range in.Trials {
		if unfit[t.Mode] {
			in.Trials[i].Metrics, in.Trials[i].Search, in.Trials[i].Steps = nil, nil, nil
		}
	}
	if in.Title == "" {
		in.Title = "Run " + orUnknown(in.Run.ID)
	}
	return in
}

func cleanRun(r result.Run) result.Run {
	r.ID, r.Profile = say.Clean(r.ID), say.Clean(r.Profile)
	r.Status = result.RunStatus(say.Clean(string(r.Status)))
	r.Noisy, r.Stopping, r.Pilots, r.Lengths = say.Clean(r.Noisy), cleanStopping(r.Stopping), each(r.Pilots, cleanPilot), each(r.Lengths, cleanLength)
	r.Source, r.Pairing = say.Clean(r.Source), say.Clean(r.Pairing)
	r.Metrics = each(r.Metrics, func(m result.Metric) result.Metric {
		m.Name, m.Title, m.Unit, m.Better = say.Clean(m.Name), say.Clean(m.Title), say.Clean(m.Unit), result.Direction(say.Clean(string(m.Better)))
		return m
	})
	r.Tare = result.Build{Version: say.Clean(r.Tare.Version), Commit: say.Clean(r.Tare.Commit)}
	r.Hosts = each(r.Hosts, func(h result.Host) result.Host {
		return result.Host{Name: say.Clean(h.Name), Facts: cleanFacts(h.Facts)}
	})
	r.Modes = each(r.Modes, cleanMode)
	for i, m := range r.Modes {
		r.Modes[i].Facts = together(m.Facts, r.Hosts)
	}
	r.Scenarios = each(r.Scenarios, func(s result.Scenario) result.Scenario {
		s.ID, s.Title, s.Description = say.Clean(s.ID), say.Clean(s.Title), say.Clean(s.Description)
		s.Mode, s.Workload = say.Clean(s.Mode), say.Clean(s.Workload)
		return s
	})
	r.Comparisons = each(r.Comparisons, cleanComparison)
	r.Agreements = each(r.Agreements, func(a result.Agreement) result.Agreement {
		a.Workload, a.Tool, a.Mode, a.Metric = say.Clean(a.Workload), say.Clean(a.Tool), say.Clean(a.Mode), say.Clean(a.Metric)
		return a
	})
	r.Cells = each(r.Cells, func(c result.Cell) result.Cell {
		c.Mode, c.Workload, c.Metric = say.Clean(c.Mode), say.Clean(c.Workload), say.Clean(c.Metric)
		c.Baseline, c.Unit = say.Clean(c.Baseline), say.Clean(c.Unit)
		return c
	})
	cleanEvidence(&r)
	r.Warnings = each(r.Warnings, func(w result.Warning) result.Warning {
		return result.Warning{Code: say.Clean(w.Code), Scope: say.Clean(w.Scope), Text: say.Clean(w.Text)}
	})
	return r
}

func cleanStopping(s *result.Stopping) *result.Stopping {
	if s == nil {
		return nil
	}
	clean := *s
	clean.Text = say.Clean(s.Text)
	clean.Unsettled = each(s.Unsettled, func(u result.Unsettled) result.Unsettled {
		u.Mode, u.Workload, u.Metric = say.Clean(u.Mode), say.Clean(u.Workload), say.Clean(u.Metric)
		return u
	})
	return &clean
}

func cleanPilot(p result.Pilot) result.Pilot {
	p.Mode, p.Workload, p.Reason = say.Clean(p.Mode), say.Clean(p.Workload), say.Clean(p.Reason)
	return p
}

func cleanLength(l result.Length) result.Length {
	l.Workload, l.Reason = say.Clean(l.Workload), say.Clean(l.Reason)
	return l
}

func cleanMode(m result.Mode) result.Mode {
	m.ID, m.Title, m.Reason = say.Clean(m.ID), say.Clean(m.Title), say.Clean(m.Reason)
	m.Baseline, m.Status = say.Clean(m.Baseline), result.ModeStatus(say.Clean(string(m.Status)))
	m.Mode, m.Description, m.Facts = say.Clean(m.Mode), say.Clean(m.Description), cleanFacts(m.Facts)
	if m.Topology != nil {
		m.Topology = &result.Topology{Edges: m.Topology.Edges, Nodes: each(m.Topology.Nodes, cleanNode), Beside: each(m.Topology.Beside, cleanNode)}
	}
	if m.Proof != nil {
		p := *m.Proof
		p.Workload = say.Clean(p.Workload)
		p.Findings = each(p.Findings, func(f result.Finding) result.Finding {
			f.Counter, f.Expect = say.Clean(f.Counter), say.Clean(f.Expect)
			return f
		})
		m.Proof = &p
	}
	return m
}

func cleanNode(n result.Node) result.Node {
	n.Kind, n.Host, n.Sandbox = say.Clean(n.Kind), say.Clean(n.Host), say.Clean(n.Sandbox)
	n.Label, n.Facts, n.Counters = say.Clean(n.Label), cleanFacts(n.Facts), each(n.Counters, say.Clean)
	return n
}

func cleanComparison(c result.Comparison) result.Comparison {
	c.ID, c.Title, c.Reason = say.Clean(c.ID), say.Clean(c.Title), say.Clean(c.Reason)
	c.Metric, c.Unit = say.Clean(c.Metric), say.Clean(c.Unit)
	c.A, c.B = cleanSide(c.A), cleanSide(c.B)
	if c.ID == "" {
		c.ID = c.A.ID + "/" + c.B.ID
	}
	return c
}

func cleanSide(s result.Side) result.Side {
	s.ID, s.Mode, s.Workload = say.Clean(s.ID), say.Clean(s.Mode), say.Clean(s.Workload)
	if len(s.Of) > 0 {
		s.Of = each(s.Of, cleanSide)
	}
	return s
}

func cleanFacts(facts []result.Fact) []result.Fact {
	return each(facts, func(f result.Fact) result.Fact {
		return result.Fact{Name: say.Clean(f.Name), Value: say.Clean(f.Value)}
	})
}

func cleanTrials(trials []result.Trial) []result.Trial {
	return each(trials, func(t result.Trial) result.Trial {
		t.Mode, t.Workload, t.Reason = say.Clean(t.Mode), say.Clean(t.Workload), say.Clean(t.Reason)
		t.Status = result.TrialStatus(say.Clean(string(t.Status)))
		t.Processes = each(t.Processes, func(p result.ProcessCPU) result.ProcessCPU {
			p.Name = say.Clean(p.Name)
			return p
		})
		if t.Search != nil {
			search := *t.Search
			search.Goals = each(search.Goals, func(g result.SearchGoal) result.SearchGoal {
				g.Metric = say.Clean(g.Metric)
				return g
			})
			t.Search = &search
		}
		for name := range t.Metrics {
			if say.Clean(name) != name {
				t.Metrics = cleanNames(t.Metrics)
				break
			}
		}
		return t
	})
}

func cleanNames(metrics map[string]float64) map[string]float64 {
	out := make(map[string]float64, len(metrics))
	for name, v := range metrics {
		out[say.Clean(name)] = v
	}
	return out
}

// withoutFigures is a comparison of what was not measured.
func withoutFigures(c result.Comparison) result.Comparison {
	var side func(s result.Side) result.Side
	side = func(s result.Side) result.Side {
		bare := result.Side{ID: s.ID, Mode: s.Mode, Workload: s.Workload}
		if len(s.Of) > 0 {
			bare.Of = each(s.Of, side)
		}
		return bare
	}
	return result.Comparison{ID: c.ID, Title: c.Title, A: side(c.A), B: side(c.B), Reason: c.Reason}
}

// unmeasured says that a mode has no figures. A mode of a run that broke off may
// not have a status yet; its trials still count.
func unmeasured(m result.Mode) bool {
	return m.Status != result.ModeMeasured && m.Status != ""
}

// each is a new slice of f of every element.
func each[T any](in []T, f func(T) T) []T {
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
