package chart

import (
	"tare/internal/wording"
)

// Inline draws f as an <svg> element for a page that has included [CSS]. The id
// prefixes the ids of its title and description: letters, digits and hyphens,
// once per page.
func (f Figure) Inline(id string) []byte {
	c := canvas{page: true}
	f.draw(&c, id, "", 0, 0)
	return c.Bytes()
}

// Standalone draws f as an SVG file that brings its own style and a ground to
// stand on.
func (f Figure) Standalone() []byte {
	var c canvas
	c.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
	style := css
	if f.has(func(r Row) bool { return len(r.Parts) > 0 }) {
		style += stackCSS
	}
	if len(f.Planes) > 0 {
		style += planeCSS
	}
	f.draw(&c, "chart", style, margin, 28)
	return c.Bytes()
}

func (f Figure) draw(c *canvas, id, style string, edge, title float64) {
	legend := []string(nil)
	w := f.width() + 2*edge
	if style != "" && f.Legend != "" {
		legend = wording.Wrap(wording.Clean(f.Legend), int(f.width()/5.6))
	}
	var keys [][]keyed
	if style != "" {
		keys = f.legend(f.width())
	}
	below := float64(len(keys)) * keyHeight
	h := f.height() + 2*edge + title + below + float64(len(legend))*15 + 6
	c.printf("<svg class=\"tare-chart\" viewBox=\"0 0 %s %s\"", n(w), n(h))
	if style != "" {
		c.printf(" xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\"", n(w), n(h))
	}
	c.printf(" role=\"img\" aria-labelledby=\"%s-t %s-d\">\n", esc(id), esc(id))
	c.printf("<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">%s</desc>\n", esc(id), esc(f.Title), esc(id), esc(f.Desc))
	if style != "" {
		c.printf("<style>%s</style>\n<rect class=\"paper\" width=\"%s\" height=\"%s\"/>\n", style, n(w), n(h))
		c.text(edge, edge+14, "head", "start", wording.Cut(wording.Clean(f.Title), int(f.width()/7.2)))
	}
	x := edge
	for _, p := range f.Panels {
		c.panel(p, x, edge+title)
		x += panelWidth + gutter
	}
	for _, p := range f.Planes {
		c.plane(p, x, edge+title)
		x += panelWidth + gutter
	}
	c.keys(keys, edge, edge+title+f.height()+4)
	for i, l := range legend {
		c.text(edge, edge+title+f.height()+below+float64(i+1)*15+2, "dim", "start", l)
	}
	c.WriteString("</svg>\n")
}

func (f Figure) width() float64 {
	return max(panelWidth, float64(len(f.Panels)+len(f.Planes))*(panelWidth+gutter)-gutter)
}

func (f Figure) height() float64 {
	h := 0.0
	for _, p := range f.Panels {
		h = max(h, panelHeight(p))
	}
	for _, p := range f.Planes {
		h = max(h, p.height())
	}
	return h
}
