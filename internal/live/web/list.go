package web

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"tare/internal/store"
	"tare/internal/wording"
)

// listed is a run in the list.
type listed struct {
	Name, Link, Started, Status, Profile, Title, Modes, Workloads, Answer, Problem string
	Trials                                                                         int
	UnderWay                                                                       bool
}

// list shows the runs, newest first, or those that match a search.
func (s Server) list(w *pending, r *http.Request) {
	runs, err := store.List(s.Runs)
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	query := strings.TrimSpace(r.URL.Query().Get("q"))
	var shown []listed
	for _, found := range runs {
		if l := s.listed(found); matches(query, l, found) {
			shown = append(shown, l)
		}
	}
	s.page(w, func(b *bytes.Buffer) error {
		return render(b, "list", struct {
			frame
			Query string
			Total int
			Runs  []listed
		}{s.frame("Runs"), query, len(runs), shown})
	})
}

func (s Server) listed(r store.Summary) listed {
	l := listed{
		Name: s.name(r), Link: link("run", pathEscape(s.name(r))), Status: short(r.Outcome()), Profile: short(r.Profile), Modes: short(strings.Join(r.Modes, ", ")),
		Workloads: short(strings.Join(r.Workloads, ", ")), Answer: short(r.Answer),
		Problem: short(r.Problem), Trials: r.Trials, UnderWay: r.Problem == "" && underWay(r.Path), Started: "unknown",
	}
	if !r.Started.IsZero() {
		l.Started = wording.Time(r.Started)
	}
	if r.Problem == "" {
		l.Title = s.titleOf(r.Path)
	}
	if l.UnderWay {
		l.Status = "under way"
	}
	return l
}

// titleOf is the title of a run's study, empty if it has none.
func (s Server) titleOf(path string) string {
	if s.Title == nil {
		return ""
	}
	return short(s.Title(path))
}

// short limits and cleans text of a run for a list, because its file may contain
// anything.
func short(s string) string { return wording.Cut(wording.Clean(s), 400) }

// matches reports whether all words of a search occur in the properties of a run.
func matches(query string, l listed, r store.Summary) bool {
	text := strings.ToLower(strings.Join([]string{l.Name, r.ID, l.Started, l.Status, l.Profile, l.Title, l.Modes, l.Workloads, l.Answer}, " "))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(query)), func(word string) bool { return !strings.Contains(text, word) })
}
