package judge

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tare/internal/result"
	"tare/internal/unit"
	"tare/internal/warning"
)

// columns are the columns of a table that are read.
func columns() []string {
	return []string{"mode", "value", "block", "workload", "metric", "unit", "better", "baseline", "control", "status", "at_least"}
}

// exportColumns are further columns that `tare export` writes, of which others do not have seq.
func exportColumns() []string { return []string{"run", "seq", "attempt", "started", "reason"} }

// header is the field number of each column, -1 if there is none, and the columns that are not used.
type header struct {
	columns map[string]int
	unused  []unusedColumn
}

type unusedColumn struct {
	name string
	at   int
}

// isMetric reports whether a column has the names of metrics under another name, such as retransmits and percent loss.
func isMetric(name string) bool {
	switch name {
	case "type", "metric_name", "measure", "measurement", "statistic", "quantity", "kpi", "indicator":
		return true
	}
	return false
}

// csv reads a table with a header, after comments. The separator is that of a line sep=;, as Excel writes it, else
// the header's comma, semicolon or tab.
func (b *builder) csv(in *bufio.Reader) error {
	comma, skipped, err := separator(in)
	if err != nil {
		return err
	}
	r := csv.NewReader(in)
	r.Comma, r.Comment = comma, '#'
	r.ReuseRecord, r.FieldsPerRecord, r.TrimLeadingSpace = true, -1, true
	first, err := r.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty: it needs a header line with the columns mode and value")
	}
	if errors.Is(err, errRecord) {
		return fmt.Errorf("the header is %w", err)
	}
	if err != nil {
		return err
	}
	if columns := wideColumns(first); isK8s(columns) {
		return b.k8sTable(r, columns, skipped)
	}
	line, _ := r.FieldPos(0)
	head, err := b.header(first, line+skipped)
	if err != nil {
		return err
	}
	t := tableReader{builder: b, header: head, width: len(first), comma: r.Comma, file: b.files.index(b.file)}
	for {
		b.in.next()
		record, err := r.Read()
		if errors.Is(err, errRecord) {
			return fmt.Errorf("the record after line %d is %w", line+skipped, err)
		}
		if done, err := b.ended(err, skipped); done {
			t.reportWarnings()
			return err
		}
		line, _ = r.FieldPos(0)
		if err := t.read(line+skipped, record); err != nil {
			return err
		}
	}
}

// ended reports whether a table has no further record, with the error if it is one. After a missing quote the rest cannot
// be parsed.
func (b *builder) ended(err error, skipped int) (bool, error) {
	parse := new(csv.ParseError)
	switch {
	case errors.Is(err, io.EOF):
		return true, nil
	case errors.As(err, &parse):
		b.addProblem(parse.Line+skipped, "%v", parse.Err)
		return true, nil
	}
	return err != nil, err
}

// separator returns the field separator: that of a first line sep=;, which it skips, else that of the header.
func separator(in *bufio.Reader) (comma rune, skipped int, err error) {
	start, _ := in.Peek(4 << 10)
	if first, _, ok := strings.Cut(string(start), "\n"); ok {
		if sep := []rune(strings.TrimRight(first, "\r")); len(sep) == 5 && strings.EqualFold(string(sep[:4]), "sep=") && strings.ContainsRune(",;\t|", sep[4]) {
			_, err = in.Discard(len(first) + 1)
			return sep[4], 1, err
		}
	}
	best, n := ',', 0
	for line := range strings.Lines(string(start)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		for _, c := range []rune{',', ';', '\t'} {
			if m := strings.Count(line, string(c)); m > n {
				best, n = c, m
			}
		}
		break
	}
	return best, 0, nil
}

// header finds the columns. It warns about unknown ones.
func (b *builder) header(record []string, line int) (header, error) {
	head := header{columns: map[string]int{}}
	for _, c := range columns() {
		head.columns[c] = -1
	}
	var all, odd, names []string
	for _, field := range record {
		names = append(names, strings.ReplaceAll(strings.ToLower(strings.TrimSpace(field)), " ", "_"))
	}
	exported := slices.Contains(names, "seq")
	for i, field := range record {
		name := names[i]
		at, known := head.columns[name]
		switch {
		case at >= 0 && known:
			return header{}, fmt.Errorf("line %d: two columns %s", line, name)
		case known:
			head.columns[name] = i
		case !exported || !slices.Contains(exportColumns(), name):
			head.unused = append(head.unused, unusedColumn{strings.TrimSpace(field), i})
		}
		all = append(all, quote(field))
	}
	if head.columns["metric"] < 0 {
		if i := slices.IndexFunc(head.unused, func(c unusedColumn) bool { return isMetric(strings.ReplaceAll(strings.ToLower(c.name), " ", "_")) }); i >= 0 {
			head.columns["metric"] = head.unused[i].at
			head.unused = slices.Delete(head.unused, i, i+1)
		}
	}
	for _, c := range head.unused {
		odd = append(odd, quote(c.name))
	}
	if head.columns["value"] < 0 || head.columns["mode"] < 0 && !b.several && !b.names.given[b.file] {
		missing := "mode"
		if head.columns["value"] < 0 {
			missing = "value"
		}
		return header{}, fmt.Errorf("line %d: there is no column %s: the header has %s; mode and value are required, as in mode,block,metric,unit,value", line, missing, listNames(all))
	}
	if len(odd) > 0 {
		b.warn(warning.UnknownColumn, "run", "%s: ignored unknown columns: %s%s", b.where(line), strings.Join(odd, ", "), head.maybeBlocks())
	}
	return head, nil
}

// maybeBlocks says what to do if a column that is not used numbers the rounds in which all modes were measured.
func (h header) maybeBlocks() string {
	if h.columns["block"] >= 0 || !slices.ContainsFunc(h.unused, func(c unusedColumn) bool {
		return slices.Contains([]string{"run", "round", "rep", "repetition", "repeat", "iteration", "trial", "lap", "pass"}, strings.ToLower(c.name))
	}) {
		return ""
	}
	return "; if one numbers the rounds in which all modes were measured, call it block, and their values are compared round by round"
}

// tableReader reads the records after a header.
type tableReader struct {
	*builder
	header
	width     int
	comma     rune
	file      int32
	empty     int // rows without a value; emptyAt is the first
	emptyAt   int
	decimalAt int // the first line with a decimal comma
}

// field returns the text of a column, empty if there is none.
func (t *tableReader) field(record []string, column string) string {
	if i := t.columns[column]; i >= 0 && i < len(record) {
		return strings.TrimSpace(record[i])
	}
	return ""
}

func (t *tableReader) has(column string) bool { return t.columns[column] >= 0 }

// read reads a record, unless there are too many. An error ends the reading.
func (t *tableReader) read(line int, record []string) error {
	if err := cmp.Or(t.record(line, record), t.full()); err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	return nil
}

// record reads a record. An error ends the reading.
func (t *tableReader) record(line int, record []string) error {
	if len(record) == 1 && strings.TrimSpace(record[0]) == "" {
		return nil
	}
	if len(record) != t.width {
		t.addProblem(line, "%d fields, but the header has %d", len(record), t.width)
		return nil
	}
	r := row{line: int32(line), file: t.file, status: result.TrialOK, block: noBlock}
	if !t.placeOf(line, record, &r) {
		return nil
	}
	if s := t.field(record, "status"); s != "" && s != string(result.TrialOK) {
		r.status = result.TrialFailed
		if s == string(result.TrialInvalid) {
			r.status = result.TrialInvalid
		}
		return t.add(r)
	}
	text := t.field(record, "value")
	if text == "" {
		if t.empty++; t.empty == 1 {
			t.emptyAt = line
		}
		return nil
	}
	if !t.parseValue(line, record, text, &r) {
		return nil
	}
	for _, c := range t.unused {
		if err := t.texts.add(c.name, strings.TrimSpace(record[c.at]), cell{r.mode, r.workload, r.metric}, func() string { return t.at(r) }); err != nil {
			return err
		}
	}
	return t.add(r)
}

// placeOf reads the mode, workload, metric and block of a value.
func (t *tableReader) placeOf(line int, record []string, r *row) bool {
	mode := t.names.stems[t.builder.file]
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
		block, ok := t.name(line, "block (not required with --pairing none)", t.field(record, "block"))
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

// parseValue reads the value.
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
		t.addProblem(line, "better is %s; use higher or lower", quote(string(better)))
		return false
	}
	written := t.field(record, "unit")
	if written != "" {
		if written, ok = t.name(line, "unit", written); !ok {
			return false
		}
	}
	u := t.unit(written)
	at, u, ok := t.metricFor(line, name, written, u, better)
	if !ok || !t.value(line, u.In(v)) {
		return false
	}
	r.metric, r.value = at, u.In(v)
	r.atLeast, ok = t.parseBool(line, record, "at_least")
	return ok
}

// parseBool reads true or false; empty is false.
func (t *tableReader) parseBool(line int, record []string, column string) (yes, ok bool) {
	switch text := t.field(record, column); strings.ToLower(text) {
	case "", "false", "0", "no":
		return false, true
	case "true", "1", "yes":
		return true, true
	default:
		t.addProblem(line, "%s is %s; use true or false", column, quote(text))
		return false, false
	}
}

// number reads a value. If the comma is not the separator, it may be the decimal point.
func (t *tableReader) number(line int, text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && t.comma != ',' && strings.Count(text, ",") == 1 && !strings.Contains(text, ".") {
		if v, err = strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64); err == nil && t.decimalAt == 0 {
			t.decimalAt = line
		}
	}
	if errors.Is(err, strconv.ErrRange) {
		t.addProblem(line, "value %s is too large", quote(text))
		return 0, false
	}
	if err != nil || strings.ContainsAny(text, "xX_") {
		t.addProblem(line, "value %s is not a number", quote(text))
		return 0, false
	}
	return v, true
}

// reportWarnings adds the warnings about missing values and decimal commas.
func (t *tableReader) reportWarnings() {
	if t.empty > 0 {
		t.warn(warning.MissingValue, "run", "%s without a value, the first in %s; such rows are ignored", unit.Count(t.empty, "row", "rows"), t.where(t.emptyAt))
	}
	if t.decimalAt > 0 {
		t.warn(warning.DecimalComma, "run", "values have a decimal comma, the first in %s; it was read as a decimal point", t.where(t.decimalAt))
	}
}
