package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"tare/internal/report"
	"tare/internal/report/hypertext"
	"tare/internal/wording"
)

//go:embed watch.js
var watchScript string

//go:embed pages.css
var pagesStyle string

// page is written by its method f alone, which escapes every string.
type page struct{ *bytes.Buffer }

func (p page) f(format string, args ...any) { hypertext.Write(p.Buffer, format, args...) }

// textIf writes a format with a text unless the text is empty.
func (p page) textIf(text, format string) {
	if text != "" {
		p.f(format, text)
	}
}

// home is the address of the list of runs.
func home() string { return link("") }

// head begins a page, which is still in its header then; one that home would refuse has no link to it.
func (p page) head(title, home string) {
	p.f(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s · tare</title>
<style>%s</style>
</head>
<body>
<header>
<p class="brand">`, title, hypertext.Markup(style()))
	if home != "" {
		p.f(`<a href="%s">tare</a>`, home)
	} else {
		p.f("tare")
	}
	p.f(" <span>the network overhead of containers</span></p>\n<h1>%s</h1>\n", title)
}

const (
	afterMain = "</main>\n</body>\n</html>\n"
	allRuns   = "<p><a href=\"%s\">All runs</a></p>"
)

// table begins a table with columns; those whose name begins with # are of numbers.
func (p page) table(label string, columns ...string) {
	p.f("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table>\n<thead><tr>", label)
	for _, c := range columns {
		p.column(c)
	}
	p.f("</tr></thead>\n<tbody>")
}

func (p page) column(name string) {
	if number, ok := strings.CutPrefix(name, "#"); ok {
		p.f(`<th scope="col" class="num">%s</th>`, number)
		return
	}
	p.f(`<th scope="col">%s</th>`, name)
}

const afterTable = "\n</tbody>\n</table></div>\n"

func style() string {
	reports, _ := report.Style()
	return reports + pagesStyle
}

// styleSource and scriptSource are the CSP sources that allow the styles and scripts of
// this package and of reports.
func styleSource() string {
	_, reports := report.Style()
	return reports + " " + source(style())
}

func scriptSource() string {
	_, reports := report.Script()
	return reports + " " + source(watchScript)
}

func source(text string) string {
	hash := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}

// fail answers with an error page. Its text may contain parts of the request.
func (s Server) fail(w http.ResponseWriter, code int, text string) {
	text = wording.Cut(wording.Clean(text), 2000)
	home := home()
	if code == http.StatusForbidden || code == http.StatusMisdirectedRequest {
		home = "" // it would be refused, too
		w.Header().Set("Connection", "close")
	}
	p := page{new(bytes.Buffer)}
	p.head(http.StatusText(code), home)
	p.f("\n</header>\n<main><p class=\"notice grave\" role=\"alert\">%s</p>", text)
	p.textIf(home, allRuns)
	p.f(afterMain)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(p.Bytes()) // the browser may have closed the connection
}

// pathEscape escapes each element of a path.
func pathEscape(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}
