package store

import (
	"encoding/binary"
	"math"
	"time"

	"tare/internal/result"
)

// table are the texts and series that the blocks of an index refer to by number. Series 0
// and text 0 exist once one is added; the texts may be empty.
type table struct {
	texts    []string
	series   []series
	size     int // of the texts, in bytes
	byText   map[string]uint64
	bySeries map[series]uint64
}

// series are the texts that the cells of many runs share, by number.
type series struct{ mode, workload, metric, unit, better, baseline uint64 }

// full reports whether another run might exceed what a table may have.
func (t *table) full() bool {
	return t.size > maxTable-maxBlock || len(t.texts) > mostTable/2 || len(t.series) > mostTable/2
}

// text is the number of a text, which it adds if necessary.
func (t *table) text(s string) uint64 {
	if t.byText == nil {
		t.byText = make(map[string]uint64, len(t.texts))
		for i, s := range t.texts {
			t.byText[s] = uint64(i)
		}
	}
	n, known := t.byText[s]
	if !known {
		n = uint64(len(t.texts))
		t.byText[s] = n
		t.texts = append(t.texts, s)
		t.size += len(s)
	}
	return n
}

// of is the number of the series of a cell, which it adds if necessary.
func (t *table) of(c result.Cell) uint64 {
	if t.bySeries == nil {
		t.bySeries = make(map[series]uint64, len(t.series))
		for i, s := range t.series {
			t.bySeries[s] = uint64(i)
		}
	}
	s := series{t.text(c.Mode), t.text(c.Workload), t.text(c.Metric), t.text(c.Unit), t.text(string(c.Better)), t.text(c.Baseline)}
	n, known := t.bySeries[s]
	if !known {
		n = uint64(len(t.series))
		t.bySeries[s] = n
		t.series = append(t.series, s)
	}
	return n
}

// encoder appends to a block or a directory.
type encoder struct {
	out []byte
	t   *table
}

func (e *encoder) uint(n uint64) { e.out = binary.AppendUvarint(e.out, n) }
func (e *encoder) int(n int)     { e.long(int64(n)) }
func (e *encoder) long(n int64)  { e.out = binary.AppendVarint(e.out, n) }
func (e *encoder) text(s string) { e.uint(e.t.text(s)) }
func (e *encoder) float(x float64) {
	e.out = binary.LittleEndian.AppendUint64(e.out, math.Float64bits(x))
}
func (e *encoder) inline(s string)  { e.uint(uint64(len(s))); e.out = append(e.out, s...) }
func (e *encoder) bool(b bool)      { e.out = append(e.out, flag(b, 1)) }
func (e *encoder) time(t time.Time) { e.long(t.Unix()); e.uint(uint64(t.Nanosecond())) }

func (e *encoder) facts(facts []result.Fact) {
	e.uint(uint64(len(facts)))
	for _, f := range facts {
		e.text(f.Name)
		e.text(f.Value)
	}
}

func flag(b bool, value byte) byte {
	if b {
		return value
	}
	return 0
}

// The flags of a cell.
const (
	cellCI = 1 << iota
	cellAtLeast
	cellIndicative
	cellMargin // it differs from that of the cell before
)

// encodeRun is the block of a run that [comparable] returned. It omits what its summary
// has.
func encodeRun(r result.Run, t *table) []byte {
	e := &encoder{t: t}
	e.text(r.Schema)
	e.time(r.Finished)
	e.text(r.Tare.Version)
	e.text(r.Tare.Commit)
	e.uint(r.Seed)
	e.text(r.Noisy)
	e.int(r.Trials.OK)
	e.int(r.Trials.Invalid)
	e.int(r.Trials.Failed)
	e.uint(uint64(len(r.Hosts)))
	for _, h := range r.Hosts {
		e.text(h.Name)
		e.facts(h.Facts)
	}
	e.uint(uint64(len(r.Modes)))
	for _, m := range r.Modes {
		e.text(m.ID)
		e.text(m.Mode)
		e.text(string(m.Status))
		e.text(m.Reason)
		e.text(m.Baseline)
		e.bool(m.Control)
		e.facts(m.Facts)
	}
	e.uint(uint64(len(r.Cells)))
	margin := 0.0
	for _, c := range r.Cells {
		e.uint(t.of(c))
		e.int(c.N)
		e.text(string(c.Verdict))
		e.out = append(e.out, flag(c.RatioCI != nil, cellCI)|flag(c.AtLeast, cellAtLeast)|flag(c.Indicative, cellIndicative)|flag(c.Margin != margin, cellMargin))
		e.float(*c.Ratio)
		if c.RatioCI != nil {
			e.float(c.RatioCI[0])
			e.float(c.RatioCI[1])
		}
		if c.Margin != margin {
			margin = c.Margin
			e.float(margin)
		}
	}
	return e.out
}

// decoder reads a block or a directory. What it returns after the first error is
// meaningless: bad is then set.
type decoder struct {
	in  []byte
	t   *table
	bad bool
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.in)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.in = d.in[size:]
	return n
}

func (d *decoder) int() int { return int(d.long()) }

func (d *decoder) long() int64 {
	n, size := binary.Varint(d.in)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.in = d.in[size:]
	return n
}

// fail ends the decoding: nothing is left to read.
func (d *decoder) fail() { d.bad, d.in = true, nil }

// count is the number of elements in a list, each of at least that many bytes: no more
// than the rest can have.
func (d *decoder) count(least int) int {
	n := d.uint()
	if n > uint64(len(d.in)/least) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.in) {
		d.fail()
		return nil
	}
	out := d.in[:n]
	d.in = d.in[n:]
	return out
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) inline() string { return string(d.bytes(d.count(1))) }

func (d *decoder) text() string {
	n := d.uint()
	if n >= uint64(len(d.t.texts)) {
		d.fail()
		return ""
	}
	return d.t.texts[n]
}

func (d *decoder) float() float64 {
	b := d.bytes(8)
	if b == nil {
		return 0
	}
	x := math.Float64frombits(binary.LittleEndian.Uint64(b))
	if !finite(x) {
		d.fail()
	}
	return x
}

// The first and the last second that JSON can represent.
const (
	firstSecond = -62_167_219_200 // 0000-01-01T00:00:00Z
	lastSecond  = 253_402_300_799 // 9999-12-31T23:59:59Z
)

func (d *decoder) time() time.Time {
	second, nano := d.long(), d.uint()
	if second < firstSecond || second > lastSecond || nano > 999_999_999 {
		d.fail()
		return time.Time{}
	}
	return time.Unix(second, int64(nano)).UTC()
}

func (d *decoder) facts() []result.Fact {
	n := d.count(2)
	if n == 0 {
		return nil
	}
	out := make([]result.Fact, n)
	for i := range out {
		out[i] = result.Fact{Name: d.text(), Value: d.text()}
	}
	return out
}

// leastHost, leastMode and leastCell are the least sizes of these in a block, in bytes.
const (
	leastHost = 2
	leastMode = 7
	leastCell = 12
)

// decodeRun reads the block of a run.
func decodeRun(block []byte, t *table) (result.Run, error) {
	d := &decoder{in: block, t: t}
	r := result.Run{Schema: d.text(), Finished: d.time(), Tare: result.Build{Version: d.text(), Commit: d.text()}, Seed: d.uint(), Noisy: d.text(),
		Trials: result.Tally{OK: d.int(), Invalid: d.int(), Failed: d.int()}}
	if n := d.count(leastHost); n > 0 {
		r.Hosts = make([]result.Host, n)
	}
	for i := range r.Hosts {
		r.Hosts[i] = result.Host{Name: d.text(), Facts: d.facts()}
	}
	if n := d.count(leastMode); n > 0 {
		r.Modes = make([]result.Mode, n)
	}
	for i := range r.Modes {
		r.Modes[i] = result.Mode{ID: d.text(), Mode: d.text(), Status: result.ModeStatus(d.text()), Reason: d.text(), Baseline: d.text(), Control: d.byte() != 0, Facts: d.facts()}
	}
	if n := d.count(leastCell); n > 0 {
		r.Cells = make([]result.Cell, n)
	}
	margin := 0.0
	for i := range r.Cells {
		r.Cells[i] = d.cell(margin)
		margin = r.Cells[i].Margin
	}
	if d.bad || len(d.in) > 0 || checkTally(r.Trials) != nil {
		return result.Run{}, errIndex
	}
	return r, nil
}

func (d *decoder) cell(margin float64) result.Cell {
	n := d.uint()
	if n >= uint64(len(d.t.series)) {
		d.fail()
		return result.Cell{}
	}
	s := d.t.series[n]
	c := result.Cell{
		Mode: d.t.texts[s.mode], Workload: d.t.texts[s.workload], Metric: d.t.texts[s.metric], Unit: d.t.texts[s.unit],
		Better: result.Direction(d.t.texts[s.better]), Baseline: d.t.texts[s.baseline],
		N: d.int(), Verdict: result.Verdict(d.text()), Margin: margin,
	}
	flags := d.byte()
	c.AtLeast, c.Indicative = flags&cellAtLeast != 0, flags&cellIndicative != 0
	c.Ratio = new(d.float())
	if flags&cellCI != 0 {
		c.RatioCI = &result.Interval{d.float(), d.float()}
	}
	if flags&cellMargin != 0 {
		c.Margin = d.float()
	}
	return c
}

// encodeDirectory is the directory of an index: the table and the summaries.
func encodeDirectory(c indexContent) []byte {
	heads := &encoder{t: c.table}
	heads.uint(uint64(c.dropped))
	heads.uint(uint64(len(c.entries)))
	for _, e := range c.entries {
		s := e.summary
		heads.inline(e.rel)
		heads.out = append(heads.out, e.print[:]...)
		heads.inline(s.ID)
		heads.time(s.Started)
		heads.text(string(s.Status))
		heads.text(s.Profile)
		heads.text(s.Study)
		heads.text(s.Hash)
		heads.int(s.Trials)
		heads.uint(uint64(len(s.Modes)))
		for _, m := range s.Modes {
			heads.text(m)
		}
		heads.uint(uint64(e.size))
		heads.out = binary.LittleEndian.AppendUint32(heads.out, e.sum)
	}
	e := &encoder{}
	e.uint(uint64(len(c.table.texts)))
	for _, s := range c.table.texts {
		e.inline(s)
	}
	e.uint(uint64(len(c.table.series)))
	for _, s := range c.table.series {
		for _, n := range []uint64{s.mode, s.workload, s.metric, s.unit, s.better, s.baseline} {
			e.uint(n)
		}
	}
	return append(e.out, heads.out...)
}

// leastEntry and leastSeries are the least sizes of these in a directory, in bytes.
const (
	leastEntry  = 1 + len(fingerprint{}) + 1 + 2 + 4 + 1 + 1 + 1 + 4
	leastSeries = 6
)

// decodeDirectory reads the directory of an index whose blocks end at an offset.
func decodeDirectory(data []byte, end int64) (indexContent, error) {
	c := indexContent{table: &table{}}
	d := &decoder{in: data, t: c.table}
	n := d.limited(1, mostTable)
	c.table.texts = make([]string, n)
	for i := range c.table.texts {
		c.table.texts[i] = d.inline()
		c.table.size += len(c.table.texts[i])
	}
	n = d.limited(leastSeries, mostTable)
	c.table.series = make([]series, n)
	for i := range c.table.series {
		c.table.series[i] = series{d.number(), d.number(), d.number(), d.number(), d.number(), d.number()}
	}
	c.dropped = d.limitedNumber(mostIndexed)
	n = d.limited(leastEntry, mostIndexed)
	offset, modes := int64(headerSize), 0
	for range n {
		e := &entry{rel: d.inline(), print: d.fingerprint(), offset: offset}
		e.summary = Summary{ID: d.inline(), Started: d.time(), Status: result.RunStatus(d.text()), Profile: d.text(), Study: d.text(), Hash: d.text(), Trials: d.int()}
		if n := d.limited(1, mostTable-modes); n > 0 {
			modes += n
			e.summary.Modes = make([]string, n)
		}
		for i := range e.summary.Modes {
			e.summary.Modes[i] = d.text()
		}
		e.size = d.limitedNumber(maxBlock)
		e.sum = d.sum()
		offset += int64(e.size)
		if d.bad {
			return indexContent{}, errIndex
		}
		c.entries = append(c.entries, e)
	}
	if d.bad || len(d.in) > 0 || offset != end {
		return indexContent{}, errIndex
	}
	return c, nil
}

// limited is the count of a list with a maximum.
func (d *decoder) limited(least, most int) int {
	n := d.count(least)
	if n > most {
		d.fail()
		return 0
	}
	return n
}

// limitedNumber is a number with a maximum.
func (d *decoder) limitedNumber(most int) int {
	n := d.uint()
	if n > uint64(most) {
		d.fail()
		return 0
	}
	return int(n)
}

// number is the number of a text.
func (d *decoder) number() uint64 {
	n := d.uint()
	if n >= uint64(len(d.t.texts)) {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) fingerprint() (out fingerprint) {
	copy(out[:], d.bytes(len(out)))
	return out
}

func (d *decoder) sum() uint32 {
	if b := d.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}
