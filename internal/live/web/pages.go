package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strings"

	"tare/internal/report"
	"tare/internal/wording"
)

//go:embed pages.html
var pagesTemplate string

//go:embed claims.html
var claimsTemplate string

//go:embed watch.js
var watchScript string

//go:embed pages.css
var pagesStyle string

// frame is the part that every page has.
type frame struct {
	Title, Home string
	Style       template.CSS
	Script      template.JS
}

func (s Server) frame(title string) frame {
	return frame{Title: title, Home: link(""), Style: style(), Script: template.JS(watchScript)}
}

func style() template.CSS {
	reports, _ := report.Style()
	return reports + template.CSS(pagesStyle)
}

// styleSource and scriptSource are the CSP sources that allow the styles and scripts of
// this package and of reports.
func styleSource() string {
	_, reports := report.Style()
	return reports + " " + source(string(style()))
}

func scriptSource() string {
	_, reports := report.Script()
	return reports + " " + source(watchScript)
}

func source(text string) string {
	hash := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}

// render writes one of the templates.
func render(w io.Writer, name string, data any) error {
	t, err := template.New("pages").Parse(pagesTemplate + claimsTemplate)
	if err != nil {
		return fmt.Errorf("parse the pages: %w", err)
	}
	return t.ExecuteTemplate(w, name, data)
}

// fail answers with an error page. Its text may contain parts of the request.
func (s Server) fail(w http.ResponseWriter, code int, text string) {
	text = wording.Cut(wording.Clean(text), 2000)
	var b bytes.Buffer
	f := s.frame(http.StatusText(code))
	if code == http.StatusForbidden || code == http.StatusMisdirectedRequest {
		f.Home = "" // it would be refused, too
		w.Header().Set("Connection", "close")
	}
	if err := render(&b, "failure", struct {
		frame
		Text string
	}{f, text}); err != nil {
		http.Error(w, text, code)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // the browser may have closed the connection
}

// pathEscape escapes each element of a path.
func pathEscape(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}
