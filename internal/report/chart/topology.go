package chart

import "tare/internal/wording"

// Topology is a drawing of the way that packets take through a mode: a column for each
// host, from the client's process down the left and up the right to the server's, and
// the underlay below. On one host the way goes down one column and up the other. What
// a counter has shown is beside the step that it counts, with a mark of its own shape.
type Topology struct {
	Title, Desc string
	Legend      string // below a standalone drawing
	Stops       []Stop // in the order in which they are met
	Joins       []Join
	Beside      []Stop // off the path
	// Broken says that the proof did not hold: the way is drawn with dashes.
	Broken bool
}

// Stop is a device, a process or a rule.
type Stop struct {
	Host, Sandbox string // Sandbox is empty for the host's own stack
	Label, Note   string // Note is what it is: "bridge, mtu 1500"
	Look          Look
	Turns         bool // a way within one host may turn here: a bridge, loopback
	Readings      []Reading
}

// Look is the outline of a stop: each has lines of its own kind.
type Look string

// The looks.
const (
	Device  Look = "device"
	Process Look = "process"
	Rule    Look = "rule"
	Tunnel  Look = "tunnel"
)

// Reading is what a counter showed.
type Reading struct {
	Text string
	Sign Sign
	Tip  string // the whole of it
}

// Sign says whether a counter moved as it had to.
type Sign int

// The signs. Unsaid is for a counter without a known requirement.
const (
	Unsaid Sign = iota
	Fits
	Misfits
)

// Join leads from one stop to another, by their indices in Stops.
type Join struct{ From, To int }

// mostStops and mostReadings bound a drawing; a list beside it has the rest.
const (
	mostStops    = 40
	mostReadings = 4
	mostHosts    = 4
	mostBeside   = 10
)

// Inline draws t as an <svg> element for a page that has included [CSS]; see
// [Figure.Inline].
func (t Topology) Inline(id string) []byte {
	var c canvas
	t.draw(&c, id, "", 0, 0)
	return c.Bytes()
}

// Standalone draws t as an SVG file that brings its own style and a ground to stand on.
func (t Topology) Standalone() []byte {
	var c canvas
	c.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
	t.draw(&c, "chart", css+topologyCSS, margin, 28)
	return c.Bytes()
}

func (t Topology) draw(c *canvas, id, style string, edge, title float64) {
	l := t.layout()
	var legend []string
	if style != "" && t.Legend != "" {
		legend = wording.Wrap(wording.Clean(t.Legend), int(l.width/5.6))
	}
	w, h := l.width+2*edge, l.height+2*edge+title+float64(len(legend))*15
	c.printf("<svg class=\"tare-chart tare-topology\" viewBox=\"0 0 %s %s\"", n(w), n(h))
	if style != "" {
		c.printf(" xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\"", n(w), n(h))
	}
	c.printf(" role=\"img\" aria-labelledby=\"%s-t %s-d\">\n", esc(id), esc(id))
	c.printf("<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">%s</desc>\n", esc(id), esc(wording.Cut(t.Title, 200)), esc(id), esc(wording.Cut(t.Desc, 4000)))
	if style != "" {
		c.printf("<style>%s</style>\n<rect class=\"paper\" width=\"%s\" height=\"%s\"/>\n", style, n(w), n(h))
		c.text(edge, edge+14, "head", "start", wording.Cut(wording.Clean(t.Title), int(l.width/7.2)))
	}
	c.topology(t, l, edge, edge+title)
	for i, line := range legend {
		c.text(edge, edge+title+l.height+float64(i+1)*15, "dim", "start", line)
	}
	c.WriteString("</svg>\n")
}
