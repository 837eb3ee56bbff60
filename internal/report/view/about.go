package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/report/doc"
	"tare/internal/result"
	"tare/internal/wording"
)

// about lists what identifies a run, for the full reports.
func about(v view) []result.Fact {
	r := v.Run
	if r.Source != "" {
		return []result.Fact{
			{Name: "numbers of", Value: r.Source},
			{Name: "compared", Value: paired(r)},
			{Name: "judged by", Value: "tare " + version(r)},
			{Name: "values", Value: v.TrialCounts.String()},
		}
	}
	finished := "unknown"
	if !r.Finished.IsZero() {
		finished = wording.Time(r.Finished)
		if d := took(r); d != "" {
			finished += ", after " + d
		}
	}
	return []result.Fact{
		{Name: "run", Value: orUnknown(r.ID)},
		{Name: "status", Value: orUnknown(string(r.Status))},
		{Name: "started", Value: wording.Time(r.Started)},
		{Name: "finished", Value: finished},
		{Name: "profile", Value: orUnknown(r.Profile)},
		{Name: "seed", Value: seed(r)},
		{Name: "tare", Value: version(r)},
		{Name: "trials", Value: v.TrialCounts.String()},
	}
}

// paired returns how numbers from another program were compared.
func paired(r result.Run) string {
	switch r.Pairing {
	case "block":
		return "values paired by block"
	case "order":
		return "values paired in their order"
	}
	return "values not paired"
}

// seed is the run's seed; it is unknown where the run ended before it wrote run.json.
func seed(r result.Run) string {
	if r.Seed == 0 {
		return "unknown"
	}
	return strconv.FormatUint(r.Seed, 10)
}

// took is how long a run took; empty when that is not known.
func took(r result.Run) string {
	if r.Started.IsZero() || r.Finished.IsZero() || r.Finished.Before(r.Started) {
		return ""
	}
	return wording.Duration(r.Finished.Sub(r.Started))
}

func version(r result.Run) string {
	s := orUnknown(r.Tare.Version)
	if r.Tare.Commit != "" {
		s += " (" + wording.Cut(r.Tare.Commit, 15) + ")"
	}
	return s
}

// particulars are what identifies a run, in one line.
func particulars(v view) []string {
	if v.Run.Source != "" {
		return []string{paired(v.Run), "judged by tare " + version(v.Run)}
	}
	out := []string{"run " + orUnknown(v.Run.ID)}
	if v.Run.Profile != "" {
		out = append(out, "profile "+v.Run.Profile)
	}
	out = append(out, "seed "+seed(v.Run), wording.Time(v.Run.Started))
	if d := took(v.Run); d != "" {
		out = append(out, "took "+d)
	}
	return append(out, "tare "+version(v.Run))
}

// alike joins hosts with the same facts: "a, b".
func alike(hosts []result.Host) []result.Host {
	var out []result.Host
	for _, h := range hosts {
		i := slices.IndexFunc(out, func(o result.Host) bool { return slices.Equal(o.Facts, h.Facts) })
		if i < 0 {
			out = append(out, h)
			continue
		}
		out[i].Name += ", " + h.Name
	}
	return out
}

// lost describes a trial that does not count, with the reason.
func lost(t result.Trial, reason int) string {
	text := string(t.Status) + ": " + place(t)
	if t.Reason == "" {
		return text + ": no reason is recorded"
	}
	return text + ": " + wording.Cut(t.Reason, reason)
}

// warningLine returns a warning with its scope.
func warningLine(w result.Warning) string {
	text := w.Text
	if text == "" {
		text = w.Code
	}
	if w.Scope == "" || w.Scope == "run" {
		return text
	}
	return w.Scope + ": " + text
}

func facts(fs []result.Fact) string {
	var parts []string
	for _, f := range fs {
		parts = append(parts, f.Name+" "+f.Value)
	}
	if len(parts) == 0 {
		return "nothing is known"
	}
	return strings.Join(parts, "; ")
}

// methodText explains the statistics in short.
func methodText(v view) []string {
	if v.Run.Source != "" {
		return nil
	}
	text := "A trial gives one number. A block runs every mode once, with the baseline, in a random order given by the seed. " +
		"A ratio is the geometric mean, over the blocks, of a mode's trial to its baseline's, with the 95 % interval that Student's t gives the paired logarithms. "
	if m := marginOf(v); m > 0 {
		text += fmt.Sprintf("Modes are the same where two one-sided tests show the ratio to be within %s; ", wording.Percent(m))
	} else {
		text += "Modes are the same where two one-sided tests show the ratio to be within the margin; "
	}
	return []string{text + "probabilities are adjusted over the modes by Holm's method. A ratio that shows neither is \"cannot tell\"; the number of blocks that would settle it is an estimate."}
}

// marginOf is the margin of a run's verdicts, 0 where there are none or several.
func marginOf(v view) float64 {
	m := 0.0
	for _, c := range v.Run.Cells {
		switch {
		case c.Margin <= 0:
		case m == 0:
			m = c.Margin
		case m != c.Margin:
			return 0
		}
	}
	return m
}

// began returns when the first trial started, or the start of the run.
func began(v view) time.Time {
	var first time.Time
	for _, t := range v.Trials {
		if !t.Started.IsZero() && (first.IsZero() || t.Started.Before(first)) {
			first = t.Started
		}
	}
	return first
}

// limitFactis the suffix of a fact with the limits of an endpoint: "client limit", "server
// limit".
const limitFact = "limit"

// limitsText describes the limits of a mode's endpoints: "0.5 CPUs, 64 MiB each", or each
// endpoint's where they differ. Empty for no limit.
func limitsText(m result.Mode) string {
	var parts, bare []string
	for _, f := range m.Facts {
		if name, ok := strings.CutSuffix(f.Name, limitFact); ok && f.Value != "" {
			parts, bare = append(parts, strings.TrimSpace(name+f.Value)), append(bare, f.Value)
		}
	}
	if len(bare) == 2 && bare[0] == bare[1] {
		return bare[0] + " each"
	}
	return strings.Join(parts, "; ")
}

// together merges facts that are the same on all hosts: "engine 20.10" for "a engine 20.10"
// and "b engine 20.10".
func together(fs []result.Fact, hosts []result.Host) []result.Fact {
	var out []result.Fact
	for _, f := range fs {
		short, everywhere := f, len(hosts) > 1
		for _, h := range hosts {
			if name, ok := strings.CutPrefix(f.Name, h.Name+" "); ok {
				short.Name = name
			}
		}
		for _, h := range hosts {
			everywhere = everywhere && slices.Contains(fs, result.Fact{Name: h.Name + " " + short.Name, Value: f.Value})
		}
		if !everywhere {
			short = f
		}
		if !slices.Contains(out, short) {
			out = append(out, short)
		}
	}
	return out
}

// modeEnvironment is the environment of modes: the driver's mode, engines and limits.
type modeEnvironment struct {
	Modes []string
	Facts []result.Fact
}

// Names lists the modes.
func (s modeEnvironment) Names() string { return strings.Join(s.Modes, ", ") }

// Text is the facts in one line.
func (s modeEnvironment) Text() string { return facts(s.Facts) }

// modeEnvironments groups the modes by their environment.
func modeEnvironments(modes []result.Mode) []modeEnvironment {
	var out []modeEnvironment
	for _, m := range modes {
		known := m.Facts
		if m.Mode != "" && m.Mode != m.ID {
			known = append([]result.Fact{{Name: "mode", Value: m.Mode}}, known...)
		}
		if len(known) == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(s modeEnvironment) bool { return slices.Equal(s.Facts, known) })
		if i < 0 {
			i = len(out)
			out = append(out, modeEnvironment{Facts: known})
		}
		out[i].Modes = append(out[i].Modes, m.ID)
	}
	return out
}

// hosts describes the hosts, for a terminal.
func (b *builder) hosts() []doc.Block {
	var out []doc.Block
	l := doc.List{Cut: 600}
	for _, h := range alike(b.Run.Hosts) {
		l.Items = append(l.Items, doc.Item{Name: h.Name, Text: facts(h.Facts), Colon: true})
	}
	if len(l.Items) > 0 {
		out = append(out, doc.Section{Head: doc.Heading{Text: "Hosts"}, Blocks: []doc.Block{l}})
	}
	l = doc.List{Cut: 600}
	for _, s := range modeEnvironments(b.Run.Modes) {
		l.Items = append(l.Items, doc.Item{Name: s.Names(), Text: s.Text(), Colon: true})
	}
	if len(l.Items) > 0 {
		out = append(out, doc.Section{Head: doc.Heading{Text: "Modes"}, Blocks: []doc.Block{l}})
	}
	if b.Command != "" {
		out = append(out, doc.Command{Line: b.Command})
	}
	return out
}

// about identifies the run and its hosts, for Markdown.
func (b *builder) about() doc.Block {
	blocks := []doc.Block{factTable(about(b.view))}
	for _, h := range b.Run.Hosts {
		s := doc.Section{Head: doc.Heading{Text: "Host " + orUnknown(h.Name)}, Blocks: []doc.Block{doc.Paragraph{Text: "Nothing is known."}}}
		if len(h.Facts) > 0 {
			s.Blocks = []doc.Block{factTable(h.Facts)}
		}
		blocks = append(blocks, s)
	}
	if standings := modeEnvironments(b.Run.Modes); len(standings) > 0 {
		blocks = append(blocks, doc.Section{Head: doc.Heading{Text: "Environment of the modes"}, Blocks: []doc.Block{environmentTable(standings)}})
	}
	if b.Command != "" {
		blocks = append(blocks, doc.Section{Head: doc.Heading{Text: "How to repeat"}, Blocks: []doc.Block{doc.Command{Line: b.Command}}})
	}
	return doc.Section{Head: doc.Heading{Text: "This run"}, Blocks: blocks}
}

func factTable(fs []result.Fact) doc.Table {
	t := doc.Table{Kind: doc.Facts, Columns: []doc.Column{{Row: true}, {}}, Groups: make([]doc.Group, 1)}
	for _, f := range fs {
		t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: f.Name}, {Text: orUnknown(f.Value)}}})
	}
	return t
}

func environmentTable(all []modeEnvironment) doc.Table {
	t := doc.Table{Kind: doc.Facts, By: "standings", Caption: "Engines and limits of the modes",
		Columns: []doc.Column{{Row: true, Names: true, Strong: true}, {}}, Groups: make([]doc.Group, 1)}
	for _, s := range all {
		t.Groups[0].Rows = append(t.Groups[0].Rows, doc.Row{Cells: []doc.Cell{{Text: s.Names()}, {Text: s.Text()}}})
	}
	return t
}

// environment describes the hosts, one column each.
func (b *builder) environment() []doc.Block {
	var blocks []doc.Block
	if len(b.Run.Hosts) > 0 {
		blocks = append(blocks, doc.Section{ID: "hosts", Head: doc.Heading{Text: "Hosts"}, Blocks: []doc.Block{hostTable(b.Run.Hosts)}})
	}
	if standings := modeEnvironments(b.Run.Modes); len(standings) > 0 {
		blocks = append(blocks, doc.Section{ID: "standings", Head: doc.Heading{Text: "Environment of the modes"}, Blocks: []doc.Block{environmentTable(standings)}})
	}
	if len(blocks) == 0 {
		return nil
	}
	return []doc.Block{doc.Section{ID: "environment", Head: doc.Heading{Text: "Environment"}, Nav: "Environment", Fold: true, Blocks: blocks}}
}

// hostTable is the facts of all hosts, in the order in which they first appear.
func hostTable(hosts []result.Host) doc.Table {
	t := doc.Table{Kind: doc.Facts, By: "hosts", Caption: "Facts of the hosts", Columns: []doc.Column{{Head: "Fact", Row: true}}, Groups: make([]doc.Group, 1)}
	rows := &t.Groups[0].Rows
	for i, h := range hosts {
		t.Columns = append(t.Columns, doc.Column{Head: h.Name, Foreign: true})
		for _, f := range h.Facts {
			at := slices.IndexFunc(*rows, func(r doc.Row) bool { return r.Cells[0].Text == f.Name })
			if at < 0 {
				at = len(*rows)
				*rows = append(*rows, doc.Row{Cells: append([]doc.Cell{{Text: f.Name}}, slices.Repeat([]doc.Cell{{Text: wording.Unknown}}, len(hosts))...)})
			}
			(*rows)[at].Cells[i+1].Text = f.Value
		}
	}
	return t
}

// method explains the statistics.
func (b *builder) method() doc.Block {
	var blocks []doc.Block
	for _, text := range methodText(b.view) {
		blocks = append(blocks, doc.Paragraph{Text: text, Tight: true})
	}
	t := factTable(about(b.view))
	t.By, t.Caption = "method", "This run"
	return doc.Section{ID: "method", Head: doc.Heading{Text: "Method and seed"}, Nav: "Method", Fold: true, Blocks: append(append(blocks, t), b.decisions()...)}
}

// repeat lists the commands that repeat a run and show it again.
func (b *builder) repeat() []doc.Block {
	if b.Command == "" {
		return nil
	}
	var blocks []doc.Block
	if b.Run.Source != "" {
		blocks = append(blocks, doc.Command{Text: "The same numbers again:", Line: b.Command})
	} else {
		blocks = append(blocks, doc.Command{Text: "The same study with the same seed, and so the same trials in the same order:", Line: b.Command})
		if b.Run.ID != "" {
			blocks = append(blocks,
				doc.Command{Text: "In the directory of this run, from its own copy of the study, with every default written out:", Line: "tare run study.yaml"},
				doc.Command{Text: "Compare the two runs:", Line: "tare compare . OTHER-RUN"})
		}
	}
	return []doc.Block{doc.Section{ID: "repeat", Head: doc.Heading{Text: "To repeat it"}, Nav: "Repeat", Blocks: blocks}}
}
