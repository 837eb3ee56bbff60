package why

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/setting"
	"tare/internal/study"
)

// Try is a combination of settings that is tried on a mode, under its name in the results.
type Try struct {
	Name string
	setting.Candidate
}

// Tries lists the settings that could make a mode faster.
func Tries(m driver.Mode) []Try {
	var out []Try
	for _, c := range setting.Candidates(m) {
		out = append(out, Try{"try-" + strings.Join(slices.Sorted(maps.Keys(c.With)), "-"), c})
	}
	return out
}

// Pairs combines tries two by two, without those that set one thing to two values.
func Pairs(tries []Try) []Try {
	var out []Try
	for i, a := range tries {
		for _, b := range tries[i+1:] {
			with, conflict := maps.Clone(a.With), false
			for k, v := range b.With {
				before, has := with[k]
				conflict = conflict || has && before != v
				with[k] = v
			}
			if !conflict {
				out = append(out, Try{"try-" + strings.TrimPrefix(a.Name, "try-") + "-and-" + strings.TrimPrefix(b.Name, "try-"),
					setting.Candidate{With: with, Permanent: slices.Concat(a.Permanent, b.Permanent), GivesUp: a.GivesUp + "; " + b.GivesUp}})
			}
		}
	}
	return out
}

// TryStudy returns the study that compares a mode with each try of it. It is an error if there
// is nothing to try.
func TryStudy(m driver.Mode, tries []Try) (study.Study, error) {
	if m.Baseline == "" {
		return study.Study{}, fmt.Errorf("%s is a baseline: it has no cost to get back; name a mode that is compared with it", m.ID)
	}
	if len(tries) == 0 {
		return study.Study{}, fmt.Errorf("no setting could help %s here: it accepts none", m.ID)
	}
	s := study.Study{Name: "try", Title: "What would make " + m.ID + " faster", Modes: []study.Mode{{Mode: m.ID}}}
	for _, t := range tries {
		s.Modes = append(s.Modes, study.Mode{ID: t.Name, Mode: m.ID, With: t.With, Title: m.Title + ", with " + words(t.With),
			Description: "Permanent by: " + strings.Join(t.Permanent, " ; ") + "\nIt gives up: " + t.GivesUp})
		s.Compare = append(s.Compare, study.Comparison{ID: t.Name, A: study.SideOf(t.Name), B: study.SideOf(m.ID)})
	}
	return s, nil
}

// words are settings as a study has them.
func words(with map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(with)) {
		out = append(out, k+": "+with[k])
	}
	return strings.Join(out, ", ")
}

// Words are the settings of the try.
func (t Try) Words() string { return words(t.With) }
