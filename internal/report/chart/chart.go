// Package chart draws dot-and-interval charts, stacked bars, and lanes over time, load
// or share as SVG.
//
// A row is one mode: every trial is a dot, nothing is hidden behind an
// average, and below the dots lies the estimate with its interval. Colour is
// never alone: each verdict has a mark of its own shape and its words stand in
// the row; each piece of a bar has a letter. The same input gives the same bytes. Text of any origin is cleaned
// and escaped; classes instead of style attributes keep a strict
// Content-Security-Policy possible.
package chart

import _ "embed"

//go:embed chart.css
var css string

//go:embed stack.css
var stackCSS string

//go:embed plane.css
var planeCSS string

//go:embed topology.css
var topologyCSS string

// CSS is the style sheet of the charts and of the marks: light, and dark where
// the reader prefers it. A standalone figure carries it; a page that holds
// charts includes it once.
func CSS() string { return css + stackCSS + planeCSS + topologyCSS }

// Tone is what a row says: it sets the shape and the colour of its mark.
type Tone string

// The tones. Plain is for a baseline and for what was not judged.
const (
	Plain  Tone = "plain"
	Worse  Tone = "worse"
	Better Tone = "better"
	Same   Tone = "same"
	Small  Tone = "small"
	Unsure Tone = "unsure"
	Absent Tone = "absent"
)

// Figure is one drawing: panels side by side.
type Figure struct {
	Title  string
	Desc   string // what there is to see, for those who cannot see it
	Legend string // below the panels of a standalone figure
	Panels []Panel
	Planes []Plane // beside the panels
	// Keys name the pieces of stacked bars, where there are any. The legend of them is
	// drawn below the panels of a standalone figure; a page has its own.
	Keys []string
}

// Panel is one axis with its rows.
type Panel struct {
	Title string
	Axis  Axis
	Rows  []Row
}

// Axis is the horizontal axis of a panel. Its ticks are plain numbers: values
// come in the unit that the panel's title names.
type Axis struct {
	// Zero starts the axis at 0; else it covers what there is to show. An axis
	// of ratios turns logarithmic where it has to cover more than a factor 4.
	Zero  bool
	Ratio bool
	// Ref is where a line is drawn through all rows, Band what is shaded.
	Ref    *float64
	RefTip string // words below the line
	Band   *[2]float64
	// Left and Right say what lies that way: "worse", "better".
	Left, Right string
}

// Row is one mode.
type Row struct {
	Heading  string // starts a group when not empty
	Label    string
	Note     string // the words of the verdict or of the figure
	Tone     Tone
	Dots     []Dot
	Estimate *float64
	Interval *[2]float64
	Group    int // which mode it is, from 1; 0 for none
	// Parts make the row a stacked bar instead of dots and an interval.
	Parts []Part
	// Absent says why there is nothing to draw.
	Absent string
}

// Dot is one trial. Out marks one that was ruled out and counts for nothing.
type Dot struct {
	X   float64
	No  int // of its block, 0 for none
	Tip string
	Out bool
}

// Signs returns the marks of verdicts as characters, for text. A page draws them.
func Signs() map[Tone]string {
	return map[Tone]string{Worse: "▼", Better: "▲", Same: "~", Small: "~", Unsure: "?"}
}
