package paths

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/result"
	"tare/internal/wording"
)

// demanded describes what the counters of a step must show; those that must not move share a
// line.
func demanded(found []result.Finding, label string) (out []chart.Reading) {
	for i, f := range found {
		name, _ := counted(f.Counter)
		if rests(f) && i > 0 && rests(found[i-1]) {
			continue
		}
		text := strings.TrimSpace(name + " " + inWords(f.Expect))
		if rests(f) && (name == "tx" || name == "rx") {
			text = "must not move"
			if slices.ContainsFunc(found, func(f result.Finding) bool { return !rests(f) }) {
				text = name + " " + text
			}
		}
		out = append(out, chart.Reading{Text: shortened(text, label), Tip: f.Counter + ": " + inWords(f.Expect)})
	}
	return out
}

// inWords is the short meaning of a word of docs/proof.md, for a drawing.
func inWords(expect string) string {
	switch expect {
	case "forward":
		return "= from client"
	case "reverse":
		return "= from server"
	case "both":
		return "= both ways"
	case "connections":
		return "each connection"
	case "forward at least":
		return "≥ from client"
	case "reverse at least":
		return "≥ from server"
	case "both at least":
		return "≥ both ways"
	case "forward payload":
		return "= from client"
	case "reverse payload":
		return "= from server"
	case "requests":
		return "= of both ends"
	case "shared connections":
		return "shared"
	case "works":
		return "to pass it on"
	case "still", "unmet", "idles":
		return "none"
	case "forward packets", "reverse packets", "packets both ways":
		return "≥ 1 a packet"
	case "forward stream", "reverse stream", "streams both ways":
		return "≥ by size"
	}
	return expect
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
