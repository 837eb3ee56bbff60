package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/report/say"
	"tare/internal/result"
)

// about lists what identifies a run, for the long reports.
func about(v view) []result.Fact {
	r := v.Run
	if r.Source != "" {
		return []result.Fact{
			{Name: "numbers of", Value: r.Source},
			{Name: "compared", Value: paired(r)},
			{Name: "judged by", Value: "tare " + version(r)},
			{Name: "values", Value: v.Tally.String()},
		}
	}
	finished := "unknown"
	if !r.Finished.IsZero() {
		finished = say.Time(r.Finished)
		if d := took(r); d != "" {
			finished += ", after " + d
		}
	}
	return []result.Fact{
		{Name: "run", Value: orUnknown(r.ID)},
		{Name: "status", Value: orUnknown(string(r.Status))},
		{Name: "started", Value: say.Time(r.Started)},
		{Name: "finished", Value: finished},
		{Name: "profile", Value: orUnknown(r.Profile)},
		{Name: "seed", Value: seed(r)},
		{Name: "tare", Value: version(r)},
		{Name: "trials", Value: v.Tally.String()},
	}
}

// paired says how numbers that came from elsewhere were compared.
func paired(r result.Run) string {
	switch r.Pairing {
	case "block":
		return "values paired by block"
	case "order":
		return "values paired in their order"
	}
	return "values not paired"
}

// seed is the run's seed; a run that broke off before it wrote run.json has none.
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
	return say.Duration(r.Finished.Sub(r.Started))
}

func version(r result.Run) string {
	s := orUnknown(r.Tare.Version)
	if r.Tare.Commit != "" {
		s += " (" + say.Cut(r.Tare.Commit, 15) + ")"
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
	out = append(out, "seed "+seed(v.Run), say.Time(v.Run.Started))
	if d := took(v.Run); d != "" {
		out = append(out, "took "+d)
	}
	return append(out, "tare "+version(v.Run))
}

// alike joins hosts of which the same is known: "a, b".
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

// lost says which trial does not count and why.
func lost(t result.Trial, reason int) string {
	text := string(t.Status) + ": " + place(t)
	if t.Reason == "" {
		return text + ": no reason is recorded"
	}
	return text + ": " + say.Cut(t.Reason, reason)
}

// warning is a warning with what it is about.
func warning(w result.Warning) string {
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

// methodText says in short how the figures came about.
func methodText(v view) []string {
	if v.Run.Source != "" {
		return nil
	}
	text := "A trial gives one number. A block holds every mode once, its baseline among them, in an order drawn from the seed. " +
		"A ratio is the geometric mean, over the blocks, of a mode's trial to its baseline's, with the 95 % interval that Student's t gives the paired logarithms. "
	if m := marginOf(v); m > 0 {
		text += fmt.Sprintf("Modes are the same where two one-sided tests show the ratio to be within %s; ", say.Percent(m))
	} else {
		text += "Modes are the same where two one-sided tests show the ratio to be within the margin; "
	}
	return []string{text + "probabilities are adjusted over the modes by Holm's method. What shows neither cannot be told, and how many more blocks it would take is a forecast."}
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

// began is when the first trial did; the run's own time where none is known.
func began(v view) time.Time {
	var first time.Time
	for _, t := range v.Trials {
		if !t.Started.IsZero() && (first.IsZero() || t.Started.Before(first)) {
			first = t.Started
		}
	}
	return first
}
