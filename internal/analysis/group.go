package analysis

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/result"
	"tare/internal/warning"
)

// Grouped is the warnings of a run with one code, for a report that has one line for them.
type Grouped struct {
	Code      warning.Code
	Severity  warning.Severity
	Modes     []string // in the order of their first warning; empty: the run as a whole
	Workloads []string // likewise; empty: all
	Text      string   // without the modes, at most about 80 columns
	Count     int      // the warnings that it stands for
	Machine   bool     // a property of the machine, which tare doctor lists
}

// Group merges the warnings with the same code and leaves out those that another one
// explains ([warning.Entry.Causes]), whose severity then counts for that one. The most
// important come first: by severity, then in the order of [warning.All]. modes are the names of
// the run's modes, as far as they may have spaces.
func Group(warnings []result.Warning, modes ...string) []Grouped {
	type group struct {
		Grouped
		entry  warning.Entry
		known  bool
		place  int
		values []string
	}
	var groups []*group
	byCode := map[warning.Code]*group{}
	for _, w := range warnings {
		g := byCode[warning.Code(w.Code)]
		if g == nil {
			g = &group{Grouped: Grouped{Code: warning.Code(w.Code), Text: w.Text}}
			if g.entry, g.place, g.known = warning.Find(w.Code); g.known {
				g.Severity = g.entry.Severity
				g.Machine = g.entry.Section == warning.Machine || g.entry.Section == warning.Existing
			}
			byCode[g.Code] = g
			groups = append(groups, g)
		}
		g.Count++
		if g.known {
			mode, workload := scopeOf(g.entry, w.Scope, modes)
			g.Modes, g.Workloads = added(g.Modes, mode), added(g.Workloads, workload)
			g.values = append(g.values, g.entry.Words(w.Values))
		}
	}
	explained := map[*group]bool{}
	for _, g := range groups {
		for _, cause := range g.entry.Causes {
			if root := byCode[cause]; root != nil && !explained[g] {
				explained[g] = true
				root.Count += g.Count
				root.Severity = max(root.Severity, g.Severity)
			}
		}
	}
	groups = slices.DeleteFunc(groups, func(g *group) bool { return explained[g] })
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.place, b.place))
	})
	var out []Grouped
	for _, g := range groups {
		if g.known {
			g.Text = short(g.entry.Short, g.values)
		}
		out = append(out, g.Grouped)
	}
	return out
}

// scopeOf reads the scope of a warning, empty where it names none. A mode or workload of another
// program may have spaces in its name: modes are those of the run.
func scopeOf(e warning.Entry, scope string, modes []string) (mode, workload string) {
	switch {
	case scope == "run" || scope == "":
		return "", ""
	case e.Scope == "workload":
		return "", scope
	}
	mode, workload, _ = strings.Cut(scope, " ")
	for _, m := range modes {
		if rest, ok := strings.CutPrefix(scope+" ", m+" "); ok && len(m) > len(mode) {
			mode, workload = m, strings.TrimSuffix(rest, " ")
		}
	}
	if at := strings.LastIndexByte(workload, ' '); at > 0 && strings.HasSuffix(e.Scope, " metric") {
		workload = workload[:at]
	}
	return mode, workload
}

func added(to []string, name string) []string {
	if name == "" || slices.Contains(to, name) {
		return to
	}
	return append(to, name)
}

// short puts the values into the braces of a short form: the value if all are equal, "up
// to" the largest if all are numbers of one unit, and else the words that are there.
func short(form string, values []string) string {
	before, rest, found := strings.Cut(form, "{")
	words, after, closed := strings.Cut(rest, "}")
	if !found || !closed {
		return form
	}
	if v := together(values); v != "" {
		words = v
	}
	return before + words + after
}

func together(values []string) string {
	if len(values) == 0 || slices.Contains(values, "") {
		return ""
	}
	if len(slices.Compact(slices.Clone(values))) == 1 {
		return values[0]
	}
	var most float64
	var largest, unit string
	for i, v := range values {
		v = strings.TrimPrefix(v, "up to ")
		number, of, _ := strings.Cut(v, " ")
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || i > 0 && of != unit {
			return ""
		}
		if unit = of; i == 0 || n > most {
			most, largest = n, v
		}
	}
	return "up to " + largest
}
