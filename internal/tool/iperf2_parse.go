package tool

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// iperf2Row is a line of iperf2's CSV. Missing values are NaN.
type iperf2Row struct {
	sourcePort, id    int
	start, end        float64
	bytes, speed      float64
	lost, order, sent float64 // datagrams
	retries           float64
}

func readIperf2(j job, out output) (parsed, error) {
	rows, err := parseIperf2(string(out.stdout))
	words := strings.TrimSpace(string(out.stderr))
	for _, fatal := range []struct{ text, do string }{
		{"congestion control failed", fmt.Sprintf("load the kernel module tcp_%s or set another congestion_control", j.Congestion)},
		{"connect failed", "no iperf server can be reached there"},
		{"bind failed", "something else listens on that port"},
		{"recvmsg failed: Connection refused", "iperf2 accepts its UDP flows one after the other and may refuse a second one: use 1 flow with direction reverse or both"},
	} {
		if strings.Contains(words, fatal.text) {
			return parsedOutput{}, fmt.Errorf("%.200s: %s", strings.ReplaceAll(words, "\n", "; "), fatal.do)
		}
	}
	if err != nil {
		return parsedOutput{}, fmt.Errorf("%w%s", err, out.hint())
	}
	s := parsedOutput{interval: j.interval(), sendBuffer: 2 * j.grantedBuffer, recvBuffer: 2 * j.grantedBuffer}
	type key struct {
		id         int
		fromServer bool
	}
	at := map[key]int{}
	var of [][]iperf2Row
	for _, r := range rows {
		if r.id < 0 {
			continue // the sum of all
		}
		k := key{r.id, r.sourcePort == int(j.port)}
		n, ok := at[k]
		if !ok {
			n = len(of)
			at[k] = n
			of = append(of, nil)
			s.flows = append(s.flows, flow{sends: k.fromServer == (j.side == atServer)})
		}
		of[n] = append(of[n], r)
	}
	for i, r := range of {
		if err := s.flows[i].rowsOf(r); err != nil {
			return parsedOutput{}, err
		}
		if f, t := s.flows[i], r[len(r)-1]; j.udp() && !f.sends && f.lost == nil {
			s.notes = append(s.notes, lossNote(j.Tool, j.build.version, t.lost, t.sent))
		}
	}
	return s, nil
}

// rowsOf adds the rows of one flow, the last of which is its total.
func (f *flow) rowsOf(rows []iperf2Row) error {
	last := len(rows) - 1
	total := rows[last]
	if last < 1 || total.start > 0 || total.end < rows[last-1].end {
		return errors.New("its output has no total: it is truncated")
	}
	var sum int64
	for _, r := range rows[:last] {
		b, err := count(r.bytes, "bytes")
		if err != nil {
			return err
		}
		v := row{start: r.start, seconds: r.length(), bytes: b}
		f.hasSegments = f.sends && !math.IsNaN(r.retries)
		if f.hasSegments {
			if v.retransmits, err = count(r.retries, "retransmits"); err != nil {
				return err
			}
		}
		f.rows = append(f.rows, v)
		sum += b
	}
	var err error
	if f.bytes, err = count(total.bytes, "bytes"); err != nil {
		return err
	}
	if sum > f.bytes {
		return fmt.Errorf("its intervals add up to %d bytes, but its total is %d", sum, f.bytes)
	}
	if f.sends || math.IsNaN(total.lost) {
		return nil // a sender reports -1 as loss, or the server's guess
	}
	if lost := total.lost; lost >= 0 && lost <= total.sent {
		n := int64(lost)
		f.lost = &n
	}
	if !math.IsNaN(total.order) {
		f.reordered, err = count(total.order, "datagrams out of order")
	}
	return err
}

// length returns the length of an interval in seconds. It divides bytes by speed, because the start
// and end are rounded.
func (r iperf2Row) length() float64 {
	if r.speed > 0 && r.bytes > 0 {
		return r.bytes * 8 / r.speed
	}
	return r.end - r.start
}

// parseIperf2 reads the CSV. Since 2.2 each kind of row is preceded by a line of names; before, the
// columns are fixed, 9 or, for UDP, 14.
func parseIperf2(text string) ([]iperf2Row, error) {
	var rows []iperf2Row
	named := map[int][]string{} // by number of columns
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		fields := strings.Split(line, ",")
		if line == "" {
			continue
		}
		if fields[0] == "time" {
			named[len(fields)] = fields
			continue
		}
		columns := named[len(fields)]
		if columns == nil && len(named) == 0 {
			columns = classicColumns(len(fields))
		}
		if columns == nil {
			return nil, fmt.Errorf("its output is not a known form of CSV: %.60q", line)
		}
		r, err := iperf2Line(columns, fields)
		if err != nil {
			return nil, fmt.Errorf("%w in %.60q", err, line)
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, errors.New("it printed no values")
	}
	return rows, nil
}

func classicColumns(n int) []string {
	tcp := []string{"time", "srcaddress", "srcport", "dstaddr", "dstport", "transferid", "interval", "bytes", "speed"}
	switch n {
	case len(tcp):
		return tcp
	case len(tcp) + 5:
		return append(tcp, "jitter", "errors", "datagrams", "errpercent", "outoforder")
	}
	return nil
}

// iperf2Line reads a row. It skips the time stamp, which before 2.2 is sometimes that of 1970.
func iperf2Line(columns, fields []string) (iperf2Row, error) {
	nan := math.NaN()
	r := iperf2Row{id: -1, start: nan, end: nan, bytes: nan, speed: nan, lost: nan, order: nan, sent: nan, retries: nan}
	floats := map[string]*float64{
		"istart": &r.start, "iend": &r.end, "bytes": &r.bytes, "speed": &r.speed, "errors": &r.lost,
		"outoforder": &r.order, "datagrams": &r.sent, "tcpretry": &r.retries,
	}
	ints := map[string]*int{"srcport": &r.sourcePort, "transferid": &r.id}
	for i, name := range columns {
		var err error
		switch {
		case name == "interval":
			from, to, _ := strings.Cut(fields[i], "-")
			if r.start, err = parseFinite(from); err == nil {
				r.end, err = parseFinite(to)
			}
		case floats[name] != nil:
			*floats[name], err = parseFinite(fields[i])
		case ints[name] != nil:
			*ints[name], err = strconv.Atoi(fields[i])
		}
		if err != nil {
			return r, fmt.Errorf("%s is not a number", name)
		}
	}
	if math.IsNaN(r.start+r.end+r.bytes) || r.start < 0 || r.end < r.start {
		return r, errors.New("there is no interval with bytes")
	}
	return r, nil
}

// parseFinite reads a finite number.
func parseFinite(s string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		err = errors.New("not finite")
	}
	return f, err
}
