package foreign

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tare/internal/result"
	"tare/internal/warning"
)

// columns are what a table may have.
func columns() []string {
	return []string{"mode", "value", "block", "workload", "metric", "unit", "better", "baseline", "control", "status", "at_least"}
}

// exportColumns are what `tare export` writes beside them.
func exportColumns() []string { return []string{"run", "seq", "attempt", "started", "reason"} }

// header says at which field of a record each column is, -1 where there is none.
type header map[string]int

// csv reads a table with a header. Separators are commas, semicolons or tabs, as the
// header has them.
func (b *builder) csv(in *bufio.Reader) error {
	r := csv.NewReader(in)
	r.Comma = separator(in)
	r.ReuseRecord, r.FieldsPerRecord, r.TrimLeadingSpace = true, -1, true
	first, err := r.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty: it needs a header line with the columns mode and value")
	}
	if err != nil {
		return err
	}
	line, _ := r.FieldPos(0)
	head, err := b.header(first, line)
	if err != nil {
		return err
	}
	t := tableReader{builder: b, header: head, width: len(first), comma: r.Comma, file: b.files.index(b.file)}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if parse := new(csv.ParseError); errors.As(err, &parse) {
			b.addProblem(parse.Line, "%v", parse.Err)
			break // where a quote is missing, nothing behind it can be told apart
		}
		if err != nil {
			return err
		}
		line, _ := r.FieldPos(0)
		t.record(line, record)
	}
	t.reportWarnings()
	return nil
}

// separator is what parts the fields of the header.
func separator(in *bufio.Reader) rune {
	start, _ := in.Peek(4 << 10)
	line, _, _ := strings.Cut(strings.TrimLeft(string(start), "\r\n"), "\n")
	best, n := ',', 0
	for _, c := range []rune{',', ';', '\t'} {
		if m := strings.Count(line, string(c)); m > n {
			best, n = c, m
		}
	}
	return best
}

// header finds the columns. An unknown one is warned of.
func (b *builder) header(record []string, line int) (header, error) {
	head := header{}
	for _, c := range columns() {
		head[c] = -1
	}
	var all, odd []string
	for i, field := range record {
		name := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(field)), " ", "_")
		at, known := head[name]
		switch {
		case at >= 0 && known:
			return nil, fmt.Errorf("line %d: two columns %s", line, name)
		case known:
			head[name] = i
		case !slices.Contains(exportColumns(), name):
			odd = append(odd, quote(field))
		}
		all = append(all, quote(field))
	}
	if head["value"] < 0 || head["mode"] < 0 && !b.several {
		missing := "mode"
		if head["value"] < 0 {
			missing = "value"
		}
		return nil, fmt.Errorf("line %d: there is no column %s: the header has %s, and needs mode and value", line, missing, strings.Join(all, ", "))
	}
	if len(odd) > 0 {
		b.warn(warning.UnknownColumn, "run", "%s: not used, for no such column is known: %s", b.where(line), strings.Join(odd, ", "))
	}
	return head, nil
}

// tableReader reads the records below a header.
type tableReader struct {
	*builder
	header
	width     int
	comma     rune
	file      int32
	empty     int // values that are not there; the first was in emptyAt
	emptyAt   int
	decimalAt int // the first line with a comma for a decimal point
}

// field is the text of a column, empty where there is none.
func (t *tableReader) field(record []string, column string) string {
	if i := t.header[column]; i >= 0 && i < len(record) {
		return strings.TrimSpace(record[i])
	}
	return ""
}

func (t *tableReader) has(column string) bool { return t.header[column] >= 0 }

func (t *tableReader) record(line int, record []string) {
	if len(record) == 1 && strings.TrimSpace(record[0]) == "" {
		return
	}
	if len(record) != t.width {
		t.addProblem(line, "%d fields, but the header has %d", len(record), t.width)
		return
	}
	r := row{line: int32(line), file: t.file, status: result.TrialOK, block: noBlock}
	if !t.place(line, record, &r) {
		return
	}
	if s := t.field(record, "status"); s != "" && s != string(result.TrialOK) {
		r.status = result.TrialFailed
		if s == string(result.TrialInvalid) {
			r.status = result.TrialInvalid
		}
		t.rows = append(t.rows, r)
		return
	}
	text := t.field(record, "value")
	if text == "" {
		if t.empty++; t.empty == 1 {
			t.emptyAt = line
		}
		return
	}
	if t.parseValue(line, record, text, &r) {
		t.rows = append(t.rows, r)
	}
}

// place reads what a value is of.
func (t *tableReader) place(line int, record []string, r *row) bool {
	mode := fileStem(t.builder.file)
	if t.has("mode") {
		mode = t.field(record, "mode")
	}
	mode, ok := t.name(line, "mode", mode)
	if !ok {
		return false
	}
	r.mode = t.modes.index(mode)
	workload := "values"
	if t.has("workload") {
		if workload, ok = t.name(line, "workload", t.field(record, "workload")); !ok {
			return false
		}
	}
	r.workload = t.loads.index(workload)
	if t.has("block") && t.opt.Pairing != NoPairs && t.opt.Pairing != ByOrder {
		block, ok := t.name(line, "block (--pairing none does without)", t.field(record, "block"))
		if !ok {
			return false
		}
		r.block = t.blocks.index(block)
	}
	control, ok := t.parseBool(line, record, "control")
	if !ok {
		return false
	}
	if control {
		t.controls[r.mode] = true
	}
	if base := t.field(record, "baseline"); base != "" {
		if base, ok = t.name(line, "baseline", base); !ok {
			return false
		}
		at := t.modes.index(base)
		if was, there := t.baseOf[r.mode]; there && was != at {
			t.addProblem(line, "%s has the baseline %s here and %s before", quote(mode), quote(base), quote(t.modes.list[was]))
			return false
		}
		t.baseOf[r.mode] = at
	}
	return true
}

// parseValue reads the value itself.
func (t *tableReader) parseValue(line int, record []string, text string, r *row) bool {
	v, ok := t.number(line, text)
	if !ok || !t.value(line, v) {
		return false
	}
	name := "value"
	if t.has("metric") {
		if name, ok = t.name(line, "metric", t.field(record, "metric")); !ok {
			return false
		}
	}
	better := result.Direction(strings.ToLower(t.field(record, "better")))
	if better != "" && better != result.Higher && better != result.Lower {
		t.addProblem(line, "better is %s, neither higher nor lower", quote(string(better)))
		return false
	}
	unit := t.field(record, "unit")
	if unit != "" {
		if unit, ok = t.name(line, "unit", unit); !ok {
			return false
		}
	}
	at, to, ok := t.metricFor(line, name, unit, better)
	if !ok || !t.value(line, to.of(v)) {
		return false
	}
	r.metric, r.value = at, to.of(v)
	r.atLeast, ok = t.parseBool(line, record, "at_least")
	return ok
}

// parseBool reads true or false; nothing is false.
func (t *tableReader) parseBool(line int, record []string, column string) (yes, ok bool) {
	switch text := t.field(record, column); strings.ToLower(text) {
	case "", "false", "0", "no":
		return false, true
	case "true", "1", "yes":
		return true, true
	default:
		t.addProblem(line, "%s is %s, neither true nor false", column, quote(text))
		return false, false
	}
}

// number reads a value. Where a comma does not part the fields, it may stand for
// the decimal point.
func (t *tableReader) number(line int, text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && t.comma != ',' && strings.Count(text, ",") == 1 && !strings.Contains(text, ".") {
		if v, err = strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64); err == nil && t.decimalAt == 0 {
			t.decimalAt = line
		}
	}
	if errors.Is(err, strconv.ErrRange) {
		t.addProblem(line, "value %s is beyond what can be reckoned with", quote(text))
		return 0, false
	}
	if err != nil || strings.ContainsAny(text, "xX_") {
		t.addProblem(line, "value %s is not a number", quote(text))
		return 0, false
	}
	return v, true
}

// reportWarnings warns of what was read in a way that should be known.
func (t *tableReader) reportWarnings() {
	if t.empty > 0 {
		t.warn(warning.MissingValue, "run", "no value, and so left out: %s, the first in %s", count(t.empty, "row", "rows"), t.where(t.emptyAt))
	}
	if t.decimalAt > 0 {
		t.warn(warning.DecimalComma, "run", "a comma in a value is read as a decimal point, first in %s", t.where(t.decimalAt))
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
