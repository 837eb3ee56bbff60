package web

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"tare/internal/report"
	"tare/internal/store"
	"tare/internal/wording"
)

// Study is a study among the runs, for the list of histories. Its hash is of what decides its
// results. Valid counts the runs that have a valid trial. Newest is the newest of them, or the newest run if there is
// none.
type Study struct {
	Name, Hash    string
	Runs, Valid   int
	Newest        store.Summary
	First, Latest time.Time // when its runs started
}

// listedStudy is a study in the list of histories.
type listedStudy struct {
	Name, Hash, Link, First, Latest string
	Title, Modes, Workloads, Answer string
	Runs, Valid                     int
}

// histories lists the studies, each with a link to its history.
func (s Server) histories(w *pending, _ *http.Request) {
	studies, err := s.Studies()
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	var shown []listedStudy
	for _, found := range studies {
		name := short(found.Name)
		if name == "" {
			name = "without a name"
		}
		shown = append(shown, listedStudy{Name: name, Hash: wording.Cut(wording.Clean(found.Hash), 16), Link: link("history", pathEscape(found.Hash)),
			First: wording.Time(found.First), Latest: wording.Time(found.Latest), Runs: found.Runs, Valid: found.Valid,
			Title: s.titleOf(found.Newest.Path), Modes: short(strings.Join(found.Newest.Modes, ", ")), Workloads: short(strings.Join(found.Newest.Workloads, ", ")), Answer: short(found.Newest.Answer)})
	}
	s.page(w, func(b *bytes.Buffer) error {
		page{b}.histories(shown)
		return nil
	})
}

func (p page) histories(studies []listedStudy) {
	p.head("History", home())
	p.f("\n<p class=\"meta\">How the results of each study changed over time.</p>\n</header>\n<main>\n")
	if len(studies) == 0 {
		p.f("<p>No run records its study.</p>\n")
	} else {
		p.table("Studies", "Study", "Hash", "#Runs", "#Valid", "First", "Latest", "What", "Latest answer")
		for _, s := range studies {
			p.f("\n<tr><th scope=\"row\"><a href=\"%s\"><bdi>%s</bdi></a>", s.Link, s.Name)
			p.textIf(s.Title, "<br><small><bdi>%s</bdi></small>")
			p.f(`</th><td>%s</td><td class="num">%d</td><td class="num">%d</td><td>%s</td><td>%s</td>`, s.Hash, s.Runs, s.Valid, s.First, s.Latest)
			p.what(s.Modes, s.Workloads, s.Answer)
			p.f("</tr>")
		}
		p.f(afterTable)
	}
	p.f(allRuns+"\n"+afterMain, home())
}

// history shows how the results of a study changed over time.
func (s Server) history(w *pending, r *http.Request) {
	h, err := s.History(r.PathValue("hash"))
	if errors.Is(err, fs.ErrNotExist) {
		s.fail(w, http.StatusNotFound, "no run is of this study; its runs may have been removed")
		return
	}
	if err != nil {
		s.fail(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	s.page(w, func(b *bytes.Buffer) error { return report.PrepareHistory(h, report.HistoryOptions{}).HTML(b) })
}
