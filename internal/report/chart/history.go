package chart

import (
	"slices"
	"strings"

	"tare/internal/wording"
)

// Series is values over time with their intervals, in the colour of Key, and with its letter where
// a lane has several.
type Series struct {
	Key     int
	Points  []SeriesPoint
	Levels  []Level
	Changes []LevelChange
}

// SeriesPoint is one value of a series. Its interval is cut at the edges of the lane.
type SeriesPoint struct {
	X, Y     float64
	Interval *[2]float64
	Tip      string
}

// Level is a horizontal line from From to To: the level of a series between two changes.
type Level struct{ From, To, Y float64 }

// LevelChange marks the reading at X as the first after a change, with the mark of its tone at
// the foot of the lane.
type LevelChange struct {
	X    float64
	Tone Tone
	Tip  string
}

// line joins the readings.
func (s Series) line() Line {
	l := Line{Key: s.Key, Thin: true}
	for _, r := range s.Points {
		l.Points = append(l.Points, XY{r.X, r.Y})
	}
	return l
}

// lettered are the lines of a lane that end with a letter: its own, and those of its series where
// it has several.
func (l Lane) lettered() []Line {
	out := slices.Clone(l.Lines)
	if len(l.Series) > 1 {
		for _, s := range l.Series {
			out = append(out, s.line())
		}
	}
	return out
}

// series draws a series in a lane that is so tall.
func (c *canvas) series(s Series, xs, ys scale, top, tall float64) {
	c.curve(s.line(), xs, ys, top)
	c.printf("<g class=\"series %s\">\n", keyClass(s.Key))
	var bars, levels strings.Builder
	for _, r := range s.Points {
		if iv := r.Interval; iv != nil {
			bars.WriteString("M" + pair(xs.x(r.X), top+ys.x(iv[0])) + "V" + n(top+ys.x(iv[1])))
		}
	}
	for _, l := range s.Levels {
		levels.WriteString("M" + pair(xs.x(l.From), top+ys.x(l.Y)) + "H" + n(xs.x(l.To)))
	}
	for _, p := range []struct{ class, d string }{{"whisker", bars.String()}, {"mean", levels.String()}} {
		if p.d != "" {
			c.printf("<path class=\"%s\" d=\"%s\"/>\n", p.class, p.d)
		}
	}
	for _, r := range s.Points {
		c.printf("<path class=\"run-mark\" d=\"M%sh0\"><title>%s</title></path>\n", pair(xs.x(r.X), top+ys.x(r.Y)), esc(wording.Cut(r.Tip, 300)))
	}
	c.printf("</g>\n")
	for _, m := range s.Changes {
		tone := toneClass(m.Tone)
		c.printf("<g class=\"t-%s\"><path class=\"mark\" d=\"%s\"><title>%s</title></path></g>\n", tone, shape(Tone(tone), xs.x(m.X), top+tall-8), esc(wording.Cut(m.Tip, 300)))
	}
}

// flags draws the flags of a lane; where it has series they are in the colour of text, because they
// are not about its tone.
func (c *canvas) flags(l Lane, xs scale, top, tall float64) {
	if len(l.Series) > 0 && len(l.Flags) > 0 {
		c.printf("<g class=\"t-%s\">\n", Plain)
		defer c.printf("</g>\n")
	}
	for _, f := range l.Flags {
		c.flag(f, xs.x(f.X), top, tall)
	}
}
