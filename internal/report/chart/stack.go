package chart

import (
	"math"
	"slices"

	"tare/internal/wording"
)

// Part is a piece of a stacked bar.
type Part struct {
	Key   int     // index into Figure.Keys, or Unsorted
	Value float64 // below 0 it lies left of the axis's zero
	Tip   string
	Plain bool // without a letter: the row's label names it, and no legend does
}

const (
	// MostKeys is how many keys have a colour of their own. One behind them is grey:
	// it is for all others together.
	MostKeys = 8
	// Unsorted is the key of what could not be sorted under any other.
	Unsorted = -1
	// Gap is the key of a piece that is not drawn: what follows begins behind it.
	Gap = -2

	unsorted  = "unknown"
	keyHeight = 18.0
	barHeight = 20.0
)

// keyClass is the style class of a key.
func keyClass(key int) string {
	switch {
	case key < 0:
		return "kx"
	case key >= MostKeys:
		return "ko"
	}
	return "k" + string(rune('0'+key))
}

// letter is on a piece and in the legend, so that colour is never alone.
func letter(key int) string {
	if key < 0 || key > 25 {
		return "?"
	}
	return string(rune('A' + key))
}

// reach adds what a stacked bar covers to a range.
func (s *span) reach(parts []Part) {
	left, right := 0.0, 0.0
	for _, p := range parts {
		switch v := drawable(p.Value); {
		case v < 0:
			left += v
		default:
			right += v
		}
	}
	if len(parts) > 0 {
		s.add(left)
		s.add(right)
	}
}

// drawable is a value that can be drawn, 0 for any other.
func drawable(v float64) float64 {
	if math.IsNaN(v) || math.Abs(v) > 1e90 {
		return 0
	}
	return v
}

// parts draws a stacked bar: what is above zero from there to the right, what is below
// it to the left.
func (c *canvas) parts(parts []Part, s scale, y float64) {
	left, right := 0.0, 0.0
	for _, p := range parts {
		v := drawable(p.Value)
		from := right
		if v < 0 {
			from = left
			left += v
		} else {
			right += v
		}
		x0, x1 := s.x(min(from, from+v)), s.x(max(from, from+v))
		if x1-x0 < 0.3 || p.Key == Gap {
			continue // nothing to be seen
		}
		tip := ""
		if p.Tip != "" {
			tip = "<title>" + esc(wording.Cut(p.Tip, 300)) + "</title>"
		}
		c.printf("<rect class=\"part %s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\">%s</rect>\n", keyClass(p.Key), n(x0), n(y), n(x1-x0), n(barHeight), tip)
		if x1-x0 >= 10 && !p.Plain {
			c.text((x0+x1)/2, y+barHeight/2+4, "letter "+keyClass(p.Key), "middle", letter(p.Key))
		}
	}
}

// keyed is a key as the legend shows it.
type keyed struct {
	key  int
	name string
}

func (k keyed) width() float64 { return 33 + float64(wording.Width(k.name))*charWidth }

// legend lists the keys of a figure in lines of at most width pixels.
func (f Figure) legend(width float64) [][]keyed {
	var all []keyed
	for i, name := range f.Keys {
		all = append(all, keyed{i, wording.Cut(wording.Clean(name), 30)})
	}
	if f.has(func(r Row) bool { return slices.ContainsFunc(r.Parts, func(p Part) bool { return p.Key == Unsorted }) }) {
		all = append(all, keyed{Unsorted, unsorted})
	}
	var out [][]keyed
	used := 0.0
	for _, k := range all {
		if len(out) == 0 || used+k.width() > width {
			out, used = append(out, nil), 0
		}
		out[len(out)-1] = append(out[len(out)-1], k)
		used += k.width()
	}
	return out
}

// keys draws a legend.
func (c *canvas) keys(lines [][]keyed, x, y float64) {
	for _, line := range lines {
		at := x
		for _, k := range line {
			c.printf("<rect class=\"part %s\" x=\"%s\" y=\"%s\" width=\"14\" height=\"14\"/>\n", keyClass(k.key), n(at), n(y))
			c.text(at+7, y+11, "letter "+keyClass(k.key), "middle", letter(k.key))
			c.text(at+19, y+11.5, "key", "start", k.name)
			at += k.width()
		}
		y += keyHeight
	}
}

// has says that a row of the figure is as asked.
func (f Figure) has(is func(Row) bool) bool {
	return slices.ContainsFunc(f.Panels, func(p Panel) bool { return slices.ContainsFunc(p.Rows, is) })
}

// Swatch is a key's colour and letter as inline SVG, to stand before its name.
func Swatch(key int) string {
	return `<svg class="icon swatch" viewBox="0 0 14 14" aria-hidden="true" focusable="false"><rect class="part ` + keyClass(key) +
		`" width="14" height="14"/><text class="letter ` + keyClass(key) + `" x="7" y="11" text-anchor="middle">` + letter(key) + `</text></svg>`
}

// Share is a small bar for a share of 0..1, to stand beside its figure; empty for no
// share.
func Share(of float64) string {
	of = min(max(drawable(of), 0), 1)
	if of == 0 {
		return ""
	}
	return `<svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect width="` + n(max(1, of*100)) + `" height="10"/></svg>`
}
