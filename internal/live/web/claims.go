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
		return render(b, "claims", struct {
			frame
			Sentence, Broken string
			Studies          []studyClaims
		}{s.frame("Claims"), table.Sentence, s.notRead(broken), shown})
	})
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
