package export

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// history is a small history of one machine with a change.
func history() result.History {
	h := result.History{Study: "overlays", Hash: "0123abcd", FalseAlarms: 0.01}
	m := result.MachineHistory{Machine: "Xeon #1"}
	s := result.HistorySeries{Mode: "docker/overlay", Baseline: "host", Workload: "tcp_rr", Metric: "transaction_rate", Better: result.Higher,
		Changes: []result.ChangePoint{{Point: 2, Before: 0.53, After: 0.47, P: 0.002, Worse: true}}}
	for i := range 4 {
		r := result.HistoryRun{ID: fmt.Sprintf("r%d", i), Started: time.Date(2026, 11, 1+i, 3, 0, 0, 250e6, time.UTC), Build: result.Build{Version: "1.2"}}
		if i == 2 {
			r.Changed = []result.Difference{{Scope: "host a", Name: "kernel", Before: "6.8", After: "6.9"}, {Scope: "tare", Name: "version", Before: "1.1", After: "1.2"}}
		}
		m.Runs = append(m.Runs, r)
		p := result.HistoryPoint{Run: i, Ratio: []float64{0.53, 0.53, 0.47, 0.47}[i]}
		if i > 0 {
			p.RatioCI = &result.Interval{p.Ratio - 0.01, p.Ratio + 0.01}
		}
		s.Points = append(s.Points, p)
	}
	m.Runs[3].Note = "noisy"
	m.Series = []result.HistorySeries{s}
	h.Machines = []result.MachineHistory{m}
	return h
}

func TestHistoryGolden(t *testing.T) {
	var table, metrics bytes.Buffer
	must.Do(t, HistoryCSV(&table, history()))
	must.Do(t, HistoryOpenMetrics(&metrics, history()))
	for name, got := range map[string]string{"history.csv": table.String(), "history.openmetrics": metrics.String()} {
		must.File(t, filepath.Join("testdata", "golden."+name), got, *update)
	}
}

// timedSample is a sample of OpenMetrics with its time in seconds.
var timedSample = regexp.MustCompile(`^(\w+\{(?:[^"\\}]|"(?:[^"\\]|\\.)*")*\}) (\S+) ([0-9]+\.[0-9]{3})$`)

// checkTimed checks that text is OpenMetrics whose samples have rising times for each label set, and
// that what promtool checks of the families finds nothing to say. It returns the number of samples.
func checkTimed(t *testing.T, text string) int {
	t.Helper()
	body, ok := strings.CutSuffix(text, "# EOF\n")
	must.Require(t, ok && !strings.Contains("\n"+body, "\n# EOF"), "it does not end with one # EOF:\n%s", text)
	last := map[string]float64{}
	n := 0
	plain := ""
	for l := range strings.Lines(body) {
		if strings.HasPrefix(l, "#") {
			plain += l
			continue
		}
		m := timedSample.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		must.Require(t, m != nil, "it is no sample with a time: %q", l)
		n++
		at, err := strconv.ParseFloat(m[3], 64)
		if before, has := last[m[1]]; err != nil || has && at <= before {
			t.Errorf("%s: time %s after %v", m[1], m[3], before)
		}
		last[m[1]] = at
		plain += m[1] + " " + m[2] + " " + strings.Replace(m[3], ".", "", 1) + "\n" // the older format has milliseconds
	}
	problems, err := promlint.New(strings.NewReader(plain)).Lint()
	if err != nil {
		t.Fatalf("it does not parse: %v\n%s", err, plain)
	}
	for _, p := range problems {
		if p.Text != "metric not unique" { // a label set has many times here, each of which is checked above
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	return n
}

// Whatever names, times and indices a history has, both formats stay well-formed.
func TestHistoryFormats(t *testing.T) {
	hostile := history()
	evil := "a\"b\\c\nd\xff} 1 2\n# EOF"
	hostile.Study, hostile.Machines[0].Machine = evil, evil
	hostile.Machines[0].Runs[0].ID, hostile.Machines[0].Runs[2].Changed[0].After = evil, evil
	hostile.Machines[0].Series[0].Mode = evil
	hostile.Machines[0].Series[0].Points = append(hostile.Machines[0].Series[0].Points, result.HistoryPoint{Run: 99, Ratio: 1}, result.HistoryPoint{Run: -1, Ratio: 1}, result.HistoryPoint{Run: 1, Ratio: math.NaN()})
	back := history()
	back.Machines[0].Runs[1].Started, back.Machines[0].Runs[2].Started = back.Machines[0].Runs[3].Started, time.Time{}
	back.Machines[0].Runs[0].Started = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		h       result.History
		samples int // 4 ratios, 3 of each limit, 1 change, 4 runs
		records int
	}{{"history", history(), 4 + 3 + 3 + 1 + 4, 5}, {"hostile", hostile, 4 + 3 + 3 + 1 + 4, 6}, {"clock set back", back, 1 + 1 + 1 + 2, 5}, {"empty", result.History{}, 0, 1}} {
		t.Run(c.name, func(t *testing.T) {
			var table, metrics bytes.Buffer
			must.Do(t, HistoryOpenMetrics(&metrics, c.h))
			if n := checkTimed(t, metrics.String()); n != c.samples {
				t.Errorf("%d samples, want %d:\n%s", n, c.samples, metrics.String())
			}
			must.Do(t, HistoryCSV(&table, c.h))
			records := must.Get(csv.NewReader(&table).ReadAll())(t)
			must.Equal(t, c.records, len(records))
		})
	}
	must.FailFor(t, "a full disk goes unnoticed", HistoryCSV(full{}, history()))
	must.FailFor(t, "a full disk goes unnoticed", HistoryOpenMetrics(full{}, history()))
}

// A history is written as it is made: half-way, no format holds the lines of very many points, and each takes few allocations.
func TestHistoryOfManyPoints(t *testing.T) {
	const points, series, most, allocations = 200_000, 1000, 16 << 20, 10
	h := result.History{Machines: []result.MachineHistory{{Runs: make([]result.HistoryRun, points/series)}}}
	m := &h.Machines[0]
	for i := range m.Runs {
		m.Runs[i] = result.HistoryRun{ID: strconv.Itoa(i), Started: time.Unix(int64(i), 0)}
	}
	for i := range series {
		s := result.HistorySeries{Mode: "m", Baseline: "host", Workload: strconv.Itoa(i), Metric: "goodput"}
		for run := range m.Runs {
			s.Points = append(s.Points, result.HistoryPoint{Run: run, Ratio: 1.0 / float64(run+3)})
		}
		m.Series = append(m.Series, s)
	}
	for name, write := range map[string]func(io.Writer, result.History) error{"csv": HistoryCSV, "openmetrics": HistoryOpenMetrics} {
		before, during := memory(), runtime.MemStats{}
		w := writerFunc(func(b []byte) (int, error) {
			if during.HeapAlloc == 0 { // the first bytes come when all lines are made, if they are held
				during = memory()
			}
			return len(b), nil
		})
		must.Do(t, write(w, h))
		if grown := int64(during.HeapAlloc) - int64(before.HeapAlloc); grown > most {
			t.Errorf("%s: %d MB are held", name, grown>>20)
		}
		after := memory()
		if each := float64(after.Mallocs-before.Mallocs) / points; each > allocations {
			t.Errorf("%s: %.0f allocations a point", name, each)
		}
	}
}

func memory() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
