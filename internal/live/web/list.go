package web

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strings"

	"tare/internal/report/hypertext"
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
		page{b}.list(query, len(runs), shown)
		return nil
	})
}

// list writes the runs that a search found among total, all of them for an empty one.
func (p page) list(query string, total int, runs []listed) {
	p.head("Runs", home())
	p.f("\n<form class=\"search\" role=\"search\" action=\"%s\"><label for=\"q\">Search</label> <input id=\"q\" name=\"q\" type=\"search\" value=\"%s\"> <button>Find</button>", home(), query)
	if query != "" {
		p.f(` <a href="%s">all %d</a>`, home(), total)
	}
	p.f("</form>\n<nav aria-label=\"Pages\"><a href=\"%s\">History</a></nav>\n</header>\n<main>\n<p><a href=\"%s\">Published claims</a></p>\n", link("history"), link("claims"))
	switch {
	case len(runs) == 0 && query != "":
		p.f("<p>No run has all of these words.</p>\n")
	case len(runs) == 0:
		p.f("<p>There are no runs yet.</p>\n")
	default:
		p.f("\n<form action=\"%s\">\n", link("compare"))
		p.table("Runs", "Run", "Started", "Status", "Profile", "#Trials", "What", "Answer", "Before", "After")
		for _, r := range runs {
			p.run(r)
		}
		p.f(afterTable + "<p><button>Compare</button></p>\n</form>\n")
	}
	p.f(afterMain)
}

// run writes the row of a run.
func (p page) run(r listed) {
	p.f("\n<tr><th scope=\"row\">")
	if r.Problem == "" {
		p.f(`<a href="%s"><bdi>%s</bdi></a>`, r.Link, r.Name)
	} else {
		p.f("<bdi>%s</bdi>", r.Name)
	}
	p.textIf(r.Title, "<br><small><bdi>%s</bdi></small>")
	p.f("</th>")
	if r.Problem != "" {
		p.f(`<td colspan="8">unreadable: %s</td></tr>`, r.Problem)
		return
	}
	now := hypertext.Markup("")
	if r.UnderWay {
		now = ` class="now"`
	}
	p.f(`<td>%s</td><td%s>%s</td><td>%s</td><td class="num">%d</td>`, r.Started, now, r.Status, r.Profile, r.Trials)
	p.what(r.Modes, r.Workloads, r.Answer)
	for _, when := range []string{"before", "after"} {
		p.f(`<td><input type="radio" name="%s" value="%s" aria-label="%s as %s"></td>`, when, r.Name, r.Name, when)
	}
	p.f("</tr>")
}

// what writes the cells of a run with its modes, its workloads and its answer.
func (p page) what(modes, workloads, answer string) {
	p.f("<td>%s", modes)
	p.textIf(workloads, "<br><small>%s</small>")
	p.f("</td><td>%s</td>", cmp.Or(answer, "-"))
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
