package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"

	"tare/internal/report/chart"
	"tare/internal/report/say"
	"tare/internal/result"
)

//go:embed page.html
var pageTemplate string

//go:embed study.html
var studyTemplate string

//go:embed method.html
var methodTemplate string

//go:embed evidence.html
var evidenceTemplate string

//go:embed charts.html
var chartsTemplate string

//go:embed page.js
var pageScript string

//go:embed topology.html
var topologyTemplate string

//go:embed page.css
var pageStyle string

// HTML writes the report as one page that needs nothing else: no request to
// anywhere. Its one script makes it handier, and nothing is missing without it. A
// Content-Security-Policy with the hashes of its style and of its script holds it to
// that, whatever the run's strings contain.
func HTML(w io.Writer, in Input) error {
	return Prepare(in).HTML(w)
}

// HTML writes the report as [HTML] does.
func (r Prepared) HTML(w io.Writer) error {
	v := r.view
	t, err := template.New("page").Funcs(template.FuncMap{
		"mark":     func(t chart.Tone) template.HTML { return template.HTML(chart.MarkRef(t)) },
		"symbols":  func() template.HTML { return template.HTML(chart.MarkSymbols()) },
		"line":     func(key int) template.HTML { return template.HTML(chart.LineKey(key)) },
		"split":    firstWord,
		"count":    say.Count,
		"swatch":   func(key int) template.HTML { return template.HTML(chart.Swatch(key)) },
		"share":    func(of float64) template.HTML { return template.HTML(chart.Share(of)) },
		"nowrap":   noBreak,
		"lost":     func(t result.Trial) string { return lost(t, 20000) },
		"warning":  warning,
		"paths":    paths,
		"places":   places,
		"facts":    facts,
		"topology": drawnTopology,
		"fate":     fate,
	}).Parse(pageTemplate + studyTemplate + methodTemplate + evidenceTemplate + chartsTemplate + topologyTemplate)
	if err != nil {
		return fmt.Errorf("parse the page's template: %w", err)
	}
	var buf bytes.Buffer
	if err := t.Execute(&buf, newHTMLPage(v)); err != nil {
		return fmt.Errorf("fill the page's template: %w", err)
	}
	_, err = w.Write(buf.Bytes())
	return err
}

// drawing is a path with its drawing for the page.
type drawing struct {
	*pathDrawing
	Drawing template.HTML
	Anchor  string
}

// drawnTopology is the way through the i-th mode, nil where it cannot be drawn.
func drawnTopology(i int, m result.Mode) *drawing {
	svg, d := topologyFigure(m, fmt.Sprintf("topo%d", i))
	if d == nil {
		return nil
	}
	// The figure escapes all text that it is given.
	return &drawing{d, template.HTML(svg), fmt.Sprintf("m%d", i)}
}

// markOf is the sign of a verdict, which the chart draws and escapes.
func markOf(t chart.Tone) template.HTML { return template.HTML(chart.Mark(t)) }

// Style is how pages look, with the source by which a Content-Security-Policy lets it
// in and nothing else.
func Style() (style template.CSS, source string) {
	text := chart.CSS() + pageStyle
	hash := sha256.Sum256([]byte(text))
	return template.CSS(text), "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}

// Script is what makes pages handier, with the source by which a
// Content-Security-Policy lets it in and nothing else.
func Script() (script template.JS, source string) {
	hash := sha256.Sum256([]byte(pageScript))
	return template.JS(pageScript), "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}

// firstWord is the first word of a text and all that is behind it.
func firstWord(text string) [2]string {
	i := strings.IndexByte(text, ' ')
	if i < 0 {
		return [2]string{text, ""}
	}
	return [2]string{text[:i], text[i:]}
}

// noBreak keeps a figure, its unit, its per cent sign and its interval on one
// line.
func noBreak(s string) string {
	for _, u := range []string{"%", "Gbit/s", "Mbit/s", "kbit/s", "bit/s", "k/s", "/s", "us", "ms", "more", "ms/Gbit", "s/Gbit", "CPUs", "("} {
		s = strings.ReplaceAll(s, " "+u, "\u00a0"+u)
	}
	s = strings.ReplaceAll(s, "≥ ", "≥\u00a0")
	return regexp.MustCompile(`\(([0-9.]+)-([0-9.]+)\)`).ReplaceAllString(s, "($1\u2011$2)")
}
