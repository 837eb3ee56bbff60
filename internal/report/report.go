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
	in.Title = say.Cut(say.Clean(in.Title), 1000)
	in.Description = say.Cut(say.CleanLines(in.Description), mostProse)
	in.Command = prose(in.Command)
	in.Run = cleanRun(in.Run)
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
	in.Trials = cleanTrials(in.Trials, unfit)
	if in.Title == "" {
		in.Title = "Run " + orUnknown(in.Run.ID)
	}
	return in
}

func cleanRun(r result.Run) result.Run {
	r.ID, r.Profile = name(r.ID), name(r.Profile)
	r.Status = result.RunStatus(name(string(r.Status)))
	r.Noisy, r.Stopping, r.Pilots, r.Lengths = prose(r.Noisy), cleanStopping(r.Stopping), each(r.Pilots, cleanPilot), each(r.Lengths, cleanLength)
	r.Source, r.Pairing = prose(r.Source), name(r.Pairing)
	r.Metrics = each(r.Metrics, func(m result.Metric) result.Metric {
		m.Name, m.Title, m.Unit, m.Better = name(m.Name), prose(m.Title), name(m.Unit), result.Direction(name(string(m.Better)))
		return m
	})
	r.Tare = result.Build{Version: name(r.Tare.Version), Commit: name(r.Tare.Commit)}
	r.Hosts = each(r.Hosts, func(h result.Host) result.Host {
		return result.Host{Name: name(h.Name), Facts: cleanFacts(h.Facts)}
	})
	r.Modes = each(r.Modes, cleanMode)
	for i, m := range r.Modes {
		r.Modes[i].Facts = together(m.Facts, r.Hosts)
	}
	r.Scenarios = each(r.Scenarios, func(s result.Scenario) result.Scenario {
		s.ID, s.Title, s.Description = name(s.ID), prose(s.Title), prose(s.Description)
		s.Mode, s.Workload = name(s.Mode), name(s.Workload)
		return s
	})
	r.Comparisons = each(r.Comparisons, cleanComparison)
	r.Agreements = each(r.Agreements, func(a result.Agreement) result.Agreement {
		a.Workload, a.Tool, a.Mode, a.Metric = name(a.Workload), name(a.Tool), name(a.Mode), name(a.Metric)
		return a
	})
	r.Cells = each(r.Cells, func(c result.Cell) result.Cell {
		c.Mode, c.Workload, c.Metric = name(c.Mode), name(c.Workload), name(c.Metric)
		c.Baseline, c.Unit = name(c.Baseline), name(c.Unit)
		return c
	})
	cleanEvidence(&r)
	r.Warnings = each(r.Warnings, func(w result.Warning) result.Warning {
		return result.Warning{Code: name(w.Code), Scope: prose(w.Scope), Text: prose(w.Text)}
	})
	return r
}

func cleanStopping(s *result.Stopping) *result.Stopping {
	if s == nil {
		return nil
	}
	clean := *s
	clean.Text = prose(s.Text)
	clean.Unsettled = each(s.Unsettled, func(u result.Unsettled) result.Unsettled {
		u.Mode, u.Workload, u.Metric = name(u.Mode), name(u.Workload), name(u.Metric)
		return u
	})
	return &clean
}

func cleanPilot(p result.Pilot) result.Pilot {
	p.Mode, p.Workload, p.Reason = name(p.Mode), name(p.Workload), prose(p.Reason)
	return p
}

func cleanLength(l result.Length) result.Length {
	l.Workload, l.Reason = name(l.Workload), prose(l.Reason)
	return l
}

func cleanMode(m result.Mode) result.Mode {
	m.ID, m.Title, m.Reason = name(m.ID), prose(m.Title), prose(m.Reason)
	m.Baseline, m.Status = name(m.Baseline), result.ModeStatus(name(string(m.Status)))
	m.Mode, m.Description, m.Facts = name(m.Mode), prose(m.Description), cleanFacts(m.Facts)
	if m.Topology != nil {
		m.Topology = &result.Topology{Edges: m.Topology.Edges, Nodes: each(m.Topology.Nodes, cleanNode), Beside: each(m.Topology.Beside, cleanNode)}
	}
	if m.Proof != nil {
		p := *m.Proof
		p.Workload = name(p.Workload)
		p.Findings = each(p.Findings, func(f result.Finding) result.Finding {
			f.Counter, f.Expect = name(f.Counter), prose(f.Expect)
			return f
		})
		m.Proof = &p
	}
	return m
}

func cleanNode(n result.Node) result.Node {
	n.Kind, n.Host, n.Sandbox = name(n.Kind), name(n.Host), name(n.Sandbox)
	n.Label, n.Facts, n.Counters = name(n.Label), cleanFacts(n.Facts), each(n.Counters, name)
	return n
}

func cleanComparison(c result.Comparison) result.Comparison {
	c.ID, c.Title, c.Reason = name(c.ID), prose(c.Title), prose(c.Reason)
	c.Metric, c.Unit = name(c.Metric), name(c.Unit)
	c.A, c.B = cleanSide(c.A), cleanSide(c.B)
	if c.ID == "" {
		c.ID = c.A.ID + "/" + c.B.ID
	}
	return c
}

func cleanSide(s result.Side) result.Side {
	s.ID, s.Mode, s.Workload = name(s.ID), name(s.Mode), name(s.Workload)
	if len(s.Of) > 0 {
		s.Of = each(s.Of, cleanSide)
	}
	return s
}

func cleanFacts(facts []result.Fact) []result.Fact {
	return each(facts, func(f result.Fact) result.Fact {
		return result.Fact{Name: name(f.Name), Value: prose(f.Value)}
	})
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
