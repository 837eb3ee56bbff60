package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/result"
	"tare/internal/wording"
)

// pathDrawing is the packet path of a mode as a drawing, with its caption and the table behind
// it.
type pathDrawing struct {
	Figure  chart.Topology
	Caption string
	Rows    []pathRow
}

// pathRow is a step of the path, or a device beside it that must not move.
type pathRow struct {
	Where, Step, Facts string
	Beside             bool
	Findings           []string
}

// mostRows bounds the table behind a drawing.
const mostRows = 100

// topologyOf draws the packet path of a mode with the findings of its last proof, nil where it
// is unknown.
func topologyOf(m result.Mode) *pathDrawing {
	if m.Topology == nil || len(m.Topology.Nodes) == 0 {
		return nil
	}
	t := m.Topology
	d := pathDrawing{Caption: captionOf(m.Proof)}
	d.Figure = chart.Topology{
		Title: "The path of " + m.ID, Legend: d.Caption,
		Broken: m.Proof != nil && !m.Proof.Holds,
	}
	at := map[string]int{}
	nodes := map[string]result.Node{}
	for _, n := range t.Nodes {
		nodes[n.ID] = n
	}
	var words []string
	for _, way := range ways(t) {
		words = append(words, wayInWords(way, nodes))
		for _, id := range way {
			if _, met := at[id]; met {
				continue
			}
			at[id] = len(d.Figure.Stops)
			d.Figure.Stops = append(d.Figure.Stops, drawnStop(nodes[id], m.Proof))
			d.row(nodes[id], m.Proof, false)
		}
	}
	if n := len(d.Figure.Stops); n > 1 {
		for end, note := range map[int]string{0: "client", n - 1: "server"} {
			if s := &d.Figure.Stops[end]; s.Look == chart.Process {
				s.Note = note
			}
		}
	}
	for _, e := range t.Edges {
		from, met := at[e.From]
		to, too := at[e.To]
		if met && too && !slices.Contains(d.Figure.Joins, chart.Join{From: from, To: to}) {
			d.Figure.Joins = append(d.Figure.Joins, chart.Join{From: from, To: to})
		}
	}
	for _, n := range t.Beside[:min(len(t.Beside), mostRows)] {
		s := drawnStop(n, m.Proof)
		s.Readings = nil
		if found := findingsOf(n, m.Proof); len(found) > 0 && !m.Proof.Planned() {
			s.Readings = []chart.Reading{atRest(found, "")}
		}
		d.Figure.Beside = append(d.Figure.Beside, s)
		d.row(n, m.Proof, true)
	}
	d.Figure.Desc = strings.Join(append(words, d.Caption), " ")
	return &d
}

// wayInWords names the steps of a path: "a: process, veth eth0; b: veth eth0, process."
func wayInWords(way []string, nodes map[string]result.Node) string {
	var stops []stop
	for _, id := range way {
		stops = append(stops, stopOf(nodes[id]))
	}
	var parts []string
	for _, at := range places(stops) {
		var labels []string
		for _, s := range at.Stops {
			labels = append(labels, s.Label)
		}
		parts = append(parts, strings.TrimPrefix(at.Where+": "+strings.Join(labels, ", "), ": "))
	}
	return strings.Join(parts, "; ") + "."
}

func (d *pathDrawing) row(n result.Node, p *result.Proof, beside bool) {
	if len(d.Rows) >= mostRows {
		return
	}
	s := stopOf(n)
	r := pathRow{Where: s.Where, Step: s.Label, Facts: s.Facts, Beside: beside}
	for _, f := range findingsOf(n, p) {
		r.Findings = append(r.Findings, exactly(f))
	}
	d.Rows = append(d.Rows, r)
}

// drawnStop is a step of the path as it is drawn.
func drawnStop(n result.Node, p *result.Proof) chart.Stop {
	s := chart.Stop{Host: n.Host, Sandbox: n.Sandbox, Label: n.Label, Look: chart.Look(lookOf(n.Kind)), Turns: n.Kind == "bridge" || n.Kind == "loopback"}
	var notes []string
	if !strings.Contains(strings.ToLower(n.Label), strings.ToLower(n.Kind)) {
		notes = append(notes, n.Kind)
	}
	if s.Label == "" {
		s.Label, notes = n.Kind, nil
	}
	for _, f := range n.Facts {
		if f.Name == "mtu" {
			notes = append(notes, "mtu "+f.Value)
		}
	}
	s.Note = strings.Join(notes, ", ")
	found := findingsOf(n, p)
	if p.Planned() {
		s.Readings = demanded(found, s.Label)
		return s
	}
	if len(found) > 0 && !slices.ContainsFunc(found, func(f result.Finding) bool { return !rests(f) }) {
		s.Readings = []chart.Reading{atRest(found, "must not move: ")}
		return s
	}
	for _, f := range found {
		s.Readings = append(s.Readings, chart.Reading{Text: shortened(briefly(f), s.Label), Sign: signOf(f), Tip: exactly(f)})
	}
	return s
}

// shortened drops the name of the counted device where it is that of the step.
func shortened(text, label string) string {
	if n := len(label); len(text) > n && text[n] == ' ' && strings.EqualFold(text[:n], label) {
		return text[n+1:]
	}
	return text
}

// findingsOf are the findings of a node's counters: one each, failed ones first.
func findingsOf(n result.Node, p *result.Proof) (out []result.Finding) {
	if p == nil {
		return nil
	}
	for _, c := range n.Counters {
		best := -1
		for i, f := range p.Findings {
			if f.Counter == c && (best < 0 || signOf(f) == chart.Misfits && signOf(p.Findings[best]) != chart.Misfits) {
				best = i
			}
		}
		if best >= 0 {
			out = append(out, p.Findings[best])
		}
	}
	return out
}

// atRest summarises counters that must not move: the failed ones, or else the one that moved
// most.
func atRest(found []result.Finding, lead string) chart.Reading {
	top := found[0]
	for _, f := range found {
		if signOf(top) != chart.Misfits && (signOf(f) == chart.Misfits || f.Moved != nil && (top.Moved == nil || *f.Moved > *top.Moved)) {
			top = f
		}
	}
	if signOf(top) == chart.Misfits {
		return chart.Reading{Text: briefly(top), Sign: chart.Misfits, Tip: exactly(top)}
	}
	var all []string
	for _, f := range found {
		all = append(all, exactly(f))
	}
	return chart.Reading{Text: lead + amount(top), Sign: signOf(top), Tip: strings.Join(all, "; ")}
}

// captionOf explains the signs of a drawing.
func captionOf(p *result.Proof) string {
	text := provenInWords(p)
	if p == nil || p.Planned() || len(p.Findings) == 0 || p.Findings[0].Expect == "" {
		return text + "."
	}
	sign := "A tick is a counter that did"
	if !p.Holds {
		sign = "A cross is a counter that did not"
	}
	return text + ". " + sign + "; behind \"of\" is the expected amount."
}

// provenInWords describes what a mode's last proof found, without a full stop.
func provenInWords(p *result.Proof) string {
	if p.Planned() {
		return "Beside each step is what its counters must show for the path to be proven"
	}
	if p == nil || len(p.Findings) == 0 {
		return "No trial has counted what crossed this path"
	}
	trial := fmt.Sprintf("trial %d (%s)", p.Trial, p.Workload)
	var misfits []string
	told := false
	for _, f := range p.Findings {
		told = told || f.Expect != ""
		if signOf(f) == chart.Misfits {
			misfits = append(misfits, exactly(f))
		}
	}
	switch all := wording.Count(len(p.Findings), "counter", "counters"); {
	case len(misfits) > 0:
		return wording.Cut(fmt.Sprintf("Not proven in %s: of %s, %d did not move by the expected amount: %s", trial, all, len(misfits), strings.Join(misfits, "; ")), 600)
	case !p.Holds:
		return "Not proven in " + trial
	case told:
		return fmt.Sprintf("Proven in %s: all of %s moved by the expected amount", trial, all)
	}
	return "How far counters moved in " + trial + "; the path was proven, but the expected amounts are not recorded"
}

// withProofs gives modes of older runs, which record no proofs, the counters of their last
// valid trial.
func withProofs(modes []result.Mode, trials []result.Trial) {
	last := map[string]result.Trial{}
	for _, t := range trials {
		if t.Status == result.TrialOK && len(t.Counters) > 0 {
			last[t.Mode] = t
		}
	}
	for i, m := range modes {
		t, ok := last[m.ID]
		if !ok || m.Proof != nil || m.Topology == nil || m.Status != result.ModeMeasured && m.Status != "" {
			continue
		}
		p := &result.Proof{Trial: t.Seq, Workload: t.Workload, Holds: true}
		counters := slices.Sorted(maps.Keys(t.Counters))
		for _, c := range counters {
			moved := t.Counters[c]
			p.Findings = append(p.Findings, result.Finding{Counter: c, Moved: &moved})
		}
		modes[i].Proof = p
		top := *m.Topology
		top.Nodes = each(top.Nodes, func(n result.Node) result.Node {
			if len(n.Counters) == 0 {
				n.Counters = countersOf(n, counters, t.Counters)
			}
			return n
		})
		modes[i].Topology = &top
	}
}

// countersOf finds the counters of a node by their names. Address translation has counters of
// other nodes; those did not move.
func countersOf(n result.Node, counters []string, moved map[string]uint64) (out []string) {
	at := strings.TrimSuffix(n.Host+"/"+n.Sandbox, "/")
	label, _, _ := strings.Cut(n.Label, " x ")
	for _, c := range counters {
		of, what := result.Of(c)
		if (of == at+"/"+label || n.Kind == "nat" && of == at+"/tare" && moved[c] > 0) && what != "carrier_changes" {
			out = append(out, c)
		}
	}
	return out
}

// rests reports whether a finding is of a counter that must not move.
func rests(f result.Finding) bool {
	return f.Expect == "still" || f.Expect == "unmet" || f.Expect == "idles"
}

func signOf(f result.Finding) chart.Sign {
	switch {
	case f.Expect == "":
		return chart.Unsaid
	case f.Fits():
		return chart.Fits
	}
	return chart.Misfits
}

// counted is the name of the counted device, and the unit.
func counted(counter string) (name, unit string) {
	_, what := result.Of(counter)
	for suffix, u := range map[string]string{"bytes": "B", "packets": "packets", "ns": "s"} {
		if what == suffix || strings.HasSuffix(what, "_"+suffix) {
			what, unit = strings.TrimSuffix(strings.TrimSuffix(what, suffix), "_"), u
			break
		}
	}
	switch name = strings.TrimPrefix(strings.ReplaceAll(what, "_", " "), "forward "); {
	case unit == "s" && name == "run":
		name = "ran"
	}
	return name, unit
}

// inUnit is a counter's value in base units.
func inUnit(v uint64, unit string) float64 {
	if unit == "s" {
		return float64(v) / 1e9
	}
	return float64(v)
}

func amount(f result.Finding) string {
	_, unit := counted(f.Counter)
	if f.Moved == nil {
		return "not read"
	}
	if unit == "" {
		return fmt.Sprint(*f.Moved)
	}
	return wording.Value(inUnit(*f.Moved, unit), unit)
}

// briefly is a finding for a drawing: "tx 59.5 of 59.4-61.2 GB".
func briefly(f result.Finding) string {
	name, unit := counted(f.Counter)
	in := func(v uint64) float64 { return inUnit(v, unit) }
	lead := strings.TrimPrefix(name+" ", " ")
	known := f.Expect != "" && (f.Least > 0 || f.Most != nil)
	switch {
	case f.Moved == nil || !known:
		return lead + amount(f)
	case f.Least == 0 && *f.Most == 0:
		return lead + amount(f) + " of none"
	case f.Least == 0:
		return lead + amount(f) + " of ≤ " + wording.Value(in(*f.Most), unit)
	}
	s := wording.ScaleFor(unit, in(f.Least), in(*f.Moved))
	apart := s.In(in(f.Least)) < 0.01 || s.In(in(*f.Moved)) < 0.01
	if apart { // each in its own unit
		s = wording.ScaleFor(unit, in(f.Least))
	}
	bound := "≥ " + s.Number(in(f.Least))
	if f.Most != nil {
		lo, hi := s.Number(in(f.Least)), s.Number(in(*f.Most))
		if bound = lo + "-" + hi; lo == hi {
			bound = lo
		}
	}
	if apart {
		return lead + amount(f) + " of " + strings.TrimSpace(bound+" "+s.Unit)
	}
	return strings.TrimSpace(lead + s.Number(in(*f.Moved)) + " of " + bound + " " + s.Unit)
}

// exactly is a finding with every digit, for the table.
func exactly(f result.Finding) string {
	_, what := result.Of(f.Counter)
	text := f.Counter + " moved by"
	_, unit := counted(f.Counter)
	units := map[string]string{"B": " bytes", "packets": " packets", "s": " ns"}[unit]
	if what == "" {
		units = ""
	}
	if f.Moved == nil {
		text = f.Counter + " could not be read"
	} else {
		text += fmt.Sprint(" ", *f.Moved) + units
	}
	switch {
	case f.Expect == "":
		return text
	case f.Most != nil && *f.Most == f.Least:
		text += fmt.Sprintf(" of %d", f.Least)
	case f.Most != nil && f.Least == 0:
		text += fmt.Sprintf(", at most %d", *f.Most)
	case f.Most != nil:
		text += fmt.Sprintf(", %d to %d", f.Least, *f.Most)
	case f.Least > 0:
		text += fmt.Sprintf(", at least %d", f.Least)
	}
	if f.Fits() {
		return text
	}
	return text + ": NOT as expected"
}
