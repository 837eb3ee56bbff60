package chart

import "slices"

// Measures of a topology, in pixels of the drawing: two columns are as wide as a panel.
const (
	columnWidth = 192.0
	columnGap   = 16.0
	framePad    = 6.0
	frameTitle  = 20.0
	boxTitle    = 16.0
	stopTitle   = 18.0
	lineHeight  = 13.0
	stopFoot    = 4.0
	arrowGap    = 14.0
	wireHeight  = 34.0
	besideGap   = 10.0
)

// area is a rectangle of a drawing.
type area struct{ x, y, w, h float64 }

func (a area) bottom() float64 { return a.y + a.h }
func (a area) middle() float64 { return a.x + a.w/2 }

// frame is a host or a sandbox with its name.
type frame struct {
	area
	title string
	inner bool // of a sandbox
}

// layout is where everything is.
type layout struct {
	width, height float64
	frames        []frame
	stops         []area // by index of Stops; w is 0 for those that are not drawn
	column        []int  // of each stop, -1 for one across all
	below         []int  // the stop drawn below each in its column, -1 for none
	wire          float64
	beside        []besides
	left          int // how many stops are not drawn
}

// besides is what lies beside the path on one host.
type besides struct {
	frame
	stops []int // of Beside
	more  int
}

// layout places the stops. Columns stand on a common ground, so that the devices that
// lead to other hosts are side by side; what room a column has left over is between its
// first part, which is an end of the path, and the rest.
func (t Topology) layout() layout {
	l := layout{stops: make([]area, len(t.Stops)), column: make([]int, len(t.Stops)), below: make([]int, len(t.Stops))}
	for i := range t.Stops {
		l.column[i], l.below[i] = -1, -1
	}
	drawn := min(len(t.Stops), mostStops)
	l.left = len(t.Stops) - drawn
	hosts := t.hosts(drawn)
	columns, across := t.columns(hosts, drawn)
	for _, h := range hosts[min(len(hosts), mostHosts):] {
		l.left += count(t.Stops[:drawn], func(s Stop) bool { return s.Host == h })
	}
	l.width = max(panelWidth, float64(len(columns))*(columnWidth+columnGap)-columnGap)
	tallest := 0.0
	for _, col := range columns {
		tallest = max(tallest, t.columnHeight(col))
	}
	one := len(hosts) == 1
	top := frameTitle
	for i, col := range columns {
		l.place(t, col, i, float64(i)*(columnWidth+columnGap), top, tallest)
	}
	ground := top + tallest
	if across >= 0 {
		ground += arrowGap
		l.stops[across] = area{framePad, ground, l.width - 2*framePad, t.Stops[across].height()}
		ground = l.stops[across].bottom()
		for _, col := range columns {
			if len(col) > 0 {
				l.below[col[len(col)-1]] = across
			}
		}
	}
	ground += framePad
	if one {
		l.frames = append([]frame{{area{0, 0, l.width, ground}, hosts[0], false}}, l.frames...)
	} else {
		var outer []frame
		for i := range columns {
			outer = append(outer, frame{area{float64(i) * (columnWidth + columnGap), 0, columnWidth, ground}, hosts[i], false})
		}
		l.frames = append(outer, l.frames...)
	}
	if across < 0 && len(columns) > 1 {
		l.wire = ground + 14
		ground += wireHeight
	}
	l.height = l.aside(t, hosts, ground) + 2
	return l
}

// hosts are the hosts of the first stops, in the order in which they are met.
func (t Topology) hosts(drawn int) (hosts []string) {
	for _, s := range t.Stops[:drawn] {
		if !slices.Contains(hosts, s.Host) {
			hosts = append(hosts, s.Host)
		}
	}
	return hosts
}

// columns are the stops of each column from top to bottom. On a single host the way
// turns at the bridge or loopback device nearest to its middle, which lies across.
func (t Topology) columns(hosts []string, drawn int) (columns [][]int, across int) {
	across = -1
	if len(hosts) == 1 {
		turn := drawn / 2
		for i, s := range t.Stops[:drawn] {
			if s.Turns && i > 0 && i < drawn-1 && (across < 0 || abs(2*i-drawn+1) < abs(2*across-drawn+1)) {
				across = i
			}
		}
		from := turn
		if across >= 0 {
			turn, from = across, across+1
		}
		columns = [][]int{span2(0, turn), span2(from, drawn)}
		slices.Reverse(columns[1])
		return columns, across
	}
	for i, h := range hosts[:min(len(hosts), mostHosts)] {
		var col []int
		for j, s := range t.Stops[:drawn] {
			if s.Host == h {
				col = append(col, j)
			}
		}
		if i > 0 {
			slices.Reverse(col)
		}
		columns = append(columns, col)
	}
	return columns, across
}

func span2(from, to int) (out []int) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

func abs(n int) int { return max(n, -n) }

func count[T any](of []T, is func(T) bool) (n int) {
	for _, v := range of {
		if is(v) {
			n++
		}
	}
	return n
}

func (s Stop) height() float64 {
	return stopTitle + float64(min(len(s.Readings), mostReadings))*lineHeight + stopFoot
}

// parts are the runs of a column that lie in one sandbox, or on the host itself, where
// each stop is a part of its own.
func (t Topology) parts(col []int) (parts [][]int) {
	for i, at := range col {
		if last := len(parts) - 1; i > 0 && t.Stops[at].Sandbox != "" && t.Stops[col[i-1]].Sandbox == t.Stops[at].Sandbox {
			parts[last] = append(parts[last], at)
			continue
		}
		parts = append(parts, []int{at})
	}
	return parts
}

func (t Topology) partHeight(part []int) float64 {
	h := float64(len(part)-1) * arrowGap
	for _, at := range part {
		h += t.Stops[at].height()
	}
	if t.Stops[part[0]].Sandbox != "" {
		h += boxTitle + framePad
	}
	return h
}

func (t Topology) columnHeight(col []int) float64 {
	parts := t.parts(col)
	h := float64(max(0, len(parts)-1)) * arrowGap
	for _, p := range parts {
		h += t.partHeight(p)
	}
	return h
}

// place sets the stops of a column below each other.
func (l *layout) place(t Topology, col []int, number int, x, y, tall float64) {
	slack := tall - t.columnHeight(col)
	before := -1
	for i, part := range t.parts(col) {
		inset := framePad
		if box := t.Stops[part[0]].Sandbox; box != "" {
			l.frames = append(l.frames, frame{area{x + framePad, y, columnWidth - 2*framePad, t.partHeight(part)}, box, true})
			y += boxTitle
			inset += framePad
		}
		for j, at := range part {
			if j > 0 {
				y += arrowGap
			}
			l.stops[at] = area{x + inset, y, columnWidth - 2*inset, t.Stops[at].height()}
			l.column[at] = number
			if before >= 0 {
				l.below[before] = at
			}
			before = at
			y = l.stops[at].bottom()
		}
		if inset > framePad {
			y += framePad
		}
		y += arrowGap
		if i == 0 {
			y += slack
		}
	}
}

// aside places what lies beside the path below everything, by host, and returns where
// that ends.
func (l *layout) aside(t Topology, hosts []string, y float64) float64 {
	end := y
	for i, h := range hosts[:min(len(hosts), mostHosts)] {
		b := besides{frame: frame{area: area{float64(i) * (columnWidth + columnGap), y + besideGap, columnWidth, 0}, title: h}}
		if len(hosts) == 1 {
			b.w = l.width
		}
		for j, s := range t.Beside {
			switch {
			case s.Host != h:
			case len(b.stops) == mostBeside:
				b.more++
			default:
				b.stops = append(b.stops, j)
			}
		}
		if len(b.stops) == 0 {
			continue
		}
		b.h = stopTitle + float64(len(b.stops)+min(b.more, 1))*lineHeight + stopFoot
		l.beside = append(l.beside, b)
		end = max(end, b.bottom())
	}
	return end
}
