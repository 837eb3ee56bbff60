package judge

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/unit"
)

// wideRow is a line of a table of a tool, with a column for each metric.
type wideRow struct {
	columns []string // in lower case
	fields  []string
}

func wideColumns(record []string) []string {
	var out []string
	for _, field := range record {
		out = append(out, strings.ToLower(strings.TrimSpace(field)))
	}
	return out
}

// text is the field of a column, empty if there is none.
func (r wideRow) text(column string) string {
	if i := slices.Index(r.columns, column); i >= 0 && i < len(r.fields) {
		return strings.TrimSpace(r.fields[i])
	}
	return ""
}

// number is the number of a column, NaN if there is none.
func (r wideRow) number(column string) float64 {
	v, err := strconv.ParseFloat(r.text(column), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// banner reports whether a line is the first one of netperf's output.
func banner(text string) bool {
	name, ends, ok := strings.Cut(text, " TEST from ")
	return ok && len(name) <= maxName && !strings.Contains(name, ",") && strings.Contains(ends, " to ")
}

// netperf reads the CSV of netperf -- -o: a banner, which may be missing, a header, and a line of values for each test.
// Of the columns it reads throughput, mean and percentiles of latency, and retransmissions.
func (b *builder) netperf(in *bufio.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRecord)
	var columns []string
	workload := "values"
	line, header := 0, true
	for b.in.next(); lines.Scan(); b.in.next() {
		line++
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if banner(text) {
			workload, header = netperfTest(text), true
			continue
		}
		r := csv.NewReader(strings.NewReader(text))
		r.LazyQuotes = true
		fields, err := r.Read()
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if found := wideColumns(fields); header || slices.Equal(found, columns) {
			if !slices.Contains(found, "throughput") && !slices.ContainsFunc(found, func(c string) bool { return strings.HasSuffix(c, "latency microseconds") }) {
				return fmt.Errorf("line %d: this is netperf's output without the columns of -o: run netperf with -- -o THROUGHPUT,THROUGHPUT_UNITS,P50_LATENCY,P99_LATENCY", line)
			}
			columns, header = found, false
			continue
		}
		if len(fields) != len(columns) {
			b.addProblem(line, "%d fields, but the header has %d", len(fields), len(columns))
			continue
		}
		if err := b.netperfRow(line, workload, wideRow{columns, fields}); err != nil {
			return err
		}
		if err := b.full(); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d is %w", line+1, errRecord)
	}
	return lines.Err()
}

// netperfTest is the name of a test as netperf's option -t has it, from the banner.
func netperfTest(banner string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(banner, `"`), "MIGRATED "), " TEST from ")
	name = strings.ToUpper(name)
	for _, known := range [][2]string{{"CONNECT/REQUEST/RESPONSE", "CRR"}, {"REQUEST/RESPONSE", "RR"}} {
		name = strings.Replace(name, known[0], known[1], 1)
	}
	return strings.Join(strings.Fields(name), "_")
}

// netperfRow adds the values of one test. netperf says which rate its throughput is; if not, the test tells.
func (b *builder) netperfRow(line int, workload string, r wideRow) error {
	units := r.text("throughput units")
	switch {
	case units != "" || !slices.Contains(r.columns, "throughput"):
	case strings.HasSuffix(workload, "RR"):
		units = "Trans/s"
	case strings.Contains(workload, "STREAM") || strings.Contains(workload, "MAERTS"):
		units = "10^6bits/s"
	default:
		b.addProblem(line, "a throughput without a unit; add THROUGHPUT_UNITS to netperf's -o")
		return nil
	}
	metric := "goodput"
	if u := b.unit(units); u.Base == unit.Events {
		if metric = "transaction_rate"; strings.HasSuffix(workload, "CRR") {
			metric = "connection_rate"
		}
	}
	if workload == "values" && r.text("protocol") != "" {
		workload = strings.TrimSpace(r.text("protocol") + " " + r.text("direction"))
	}
	for _, size := range []string{"request size bytes", "response size bytes", "local send size", "local bytes per send"} {
		if text := r.text(size); text != "" {
			workload += " " + strings.TrimSuffix(size, " bytes") + " " + text
		}
	}
	values := []trialValue{{metric, r.number("throughput"), units}, {"retransmits", r.number("local transport retransmissions"), "segments"}}
	for _, column := range []struct{ name, metric string }{
		{"mean latency microseconds", "latency_mean"}, {"50th percentile latency microseconds", "latency_p50"},
		{"90th percentile latency microseconds", "latency_p90"}, {"99th percentile latency microseconds", "latency_p99"},
	} {
		values = append(values, trialValue{column.metric, r.number(column.name), "us"})
	}
	if !slices.ContainsFunc(values, func(v trialValue) bool { return !math.IsNaN(v.value) }) {
		b.addProblem(line, "no value in netperf's columns of throughput and latency")
		return nil
	}
	return b.trialOf(line, b.names.trials[b.file], workload, slices.DeleteFunc(values, func(v trialValue) bool { return v.metric == "retransmits" && v.value < 0 }), false)
}

// isK8s reports whether columns are those of a table of k8s-netperf.
func isK8s(columns []string) bool {
	return slices.Contains(columns, "driver") && slices.Contains(columns, "profile") && slices.Contains(columns, "host network")
}

// unread takes note of a text in a column of k8s-netperf that is not read, such as a setting of a later version.
func (b *builder) unread(column, text string, r row) error {
	switch column {
	case "driver", "profile", "same node", "host network", "service", "across az", "throughput metric", "latency metric", "type":
		return nil
	}
	return b.texts.add(column, strings.TrimSpace(text), cell{r.mode, r.workload, r.metric}, func() string { return b.at(r) })
}

// k8sTable reads a table of k8s-netperf: result-*.csv, or loss-rt-result-*.csv.
func (b *builder) k8sTable(r *csv.Reader, columns []string, skipped int) error {
	if !slices.Contains(columns, "avg throughput") && (!slices.Contains(columns, "type") || !slices.Contains(columns, "value")) {
		return errors.New("this is a table of k8s-netperf with the use of CPUs, which judge does not read: give result-*.csv and loss-rt-result-*.csv")
	}
	for {
		b.in.next()
		fields, err := r.Read()
		if done, err := b.ended(err, skipped); done {
			return err
		}
		line, _ := r.FieldPos(0)
		line += skipped
		if len(fields) != len(columns) {
			b.addProblem(line, "%d fields, but the header has %d", len(fields), len(columns))
			continue
		}
		w := wideRow{columns, fields}
		is := func(column string) bool { return strings.EqualFold(w.text(column), "true") }
		k := k8sResult{driver: w.text("driver"), profile: w.text("profile"), size: w.number("message size"), parallel: w.number("parallelism"),
			host: is("host network"), service: is("service"), sameNode: is("same node"), zones: is("across az"),
			throughput: w.number("avg throughput"), throughputUnit: w.text("throughput metric"), latency: w.number("99%tile observed latency"),
			latencyUnit: w.text("latency metric"), retransmits: math.NaN(), lossPercent: math.NaN()}
		switch kind := strings.ToLower(w.text("type")); {
		case strings.Contains(kind, "retrans"):
			k.retransmits = w.number("value")
		case strings.Contains(kind, "loss"):
			k.lossPercent = w.number("value")
		case kind != "":
			b.addProblem(line, "%s is not a metric of k8s-netperf that judge knows", quote(kind))
			continue
		}
		before := len(b.rows)
		if err := cmp.Or(b.k8sTrial(line, k), b.full()); err != nil {
			return err
		}
		if len(b.rows) == before {
			continue
		}
		row := b.rows[before]
		for i, column := range columns {
			if err := b.unread(column, fields[i], row); err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
		}
	}
}
