package web

import (
	"bytes"
	"net/http"
	"strings"

	"tare/internal/report"
	"tare/internal/report/doc"
	"tare/internal/wording"
)

// studyClaims is a study on the page of claims, with a link to its run.
type studyClaims struct {
	doc.ClaimGroup
	Name, Link string
}

// mostBroken is how many unreadable runs the page names.
const mostBroken = 10

// claims shows the published claims with their outcomes in the runs.
func (s Server) claims(w *pending, _ *http.Request) {
	all, broken, err := s.Claims()
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	table := report.ClaimsOf(all)
	var shown []studyClaims
	for i, g := range table.Groups {
		c := studyClaims{ClaimGroup: g}
		if path := all[i].Run; path != "" {
			c.Name, c.Link = short(s.below(path)), link("run", pathEscape(s.below(path)))
		}
		shown = append(shown, c)
	}
	s.page(w, func(b *bytes.Buffer) error {
		page{b}.claims(table.Sentence, s.notRead(broken), shown)
		return nil
	})
}

// claims writes the claims of studies under a sentence; broken says which runs could not be read.
func (p page) claims(sentence, broken string, studies []studyClaims) {
	p.head("Claims", home())
	p.f("\n<p>%s A study is held against its newest complete run among these.</p>\n</header>\n<main>", sentence)
	p.textIf(broken, "\n<p class=\"notice\" role=\"note\">%s</p>")
	for n, s := range studies {
		p.f("\n<section aria-labelledby=\"s%d\">\n<h2 id=\"s%d\"><bdi>%s</bdi>: <bdi>%s</bdi></h2>\n<p class=\"meta\">", n, n, s.Study, s.Title)
		if s.Link != "" {
			p.f(`<a href="%s#claims"><bdi>%s</bdi></a>, `, s.Link, s.Name)
		}
		p.f("%s</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"s%d\"><table class=\"claims\">\n<thead><tr>", s.Text, n)
		for _, c := range []string{"Claim", "Published", "Found here", "Outcome"} {
			p.column(c)
		}
		p.f("</tr></thead>")
		for _, r := range s.Rows {
			p.claim(r)
		}
		p.f("\n</table></div>\n</section>")
	}
	if len(studies) == 0 {
		p.f("\n<p>No built-in study has claims.</p>")
	}
	p.f("\n"+allRuns+"\n"+afterMain, home())
}

// claim writes the rows of a claim.
func (p page) claim(r doc.ClaimRow) {
	p.f("\n<tbody><tr><th scope=\"row\"><bdi>%s</bdi>", r.Claim)
	p.textIf(r.Source, " <small>%s</small>")
	p.f(`</th><td>%s</td><td>%s</td><td class="verdict t-%s"><div>%s</div>`, r.Published, r.Found, r.Tone, r.Outcome)
	p.textIf(r.Reason, "<small>%s</small>")
	p.f("</td></tr>")
	for _, at := range r.Points {
		p.f("\n<tr><th scope=\"row\"><bdi>%s</bdi></th><td></td><td>%s</td><td class=\"verdict t-%s\"><div>%s</div></td></tr>", at.Label, at.Found, at.Tone, at.Outcome)
	}
	p.f("\n</tbody>")
}

// notRead names the runs that cannot be read; empty without any.
func (s Server) notRead(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	var names []string
	for _, p := range paths[:min(len(paths), mostBroken)] {
		names = append(names, short(s.below(p)))
	}
	if more := len(paths) - mostBroken; more > 0 {
		names = append(names, wording.Count(more, "more", "more"))
	}
	return wording.Count(len(paths), "run", "runs") + " cannot be read: " + strings.Join(names, ", ")
}
