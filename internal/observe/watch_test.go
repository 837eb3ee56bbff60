package observe

import (
	"errors"
	"slices"
	"testing"

	"tare/internal/testkit/must"
)

// script is a collector that returns results from a list and records its calls.
type script struct {
	name  string
	reads []any // error, or count
	log   *[]string
}

// count is a sample of one counter, n.
type count float64

func (c count) Since(earlier Sample) (map[string]float64, []Gap) {
	from := earlier.(count)
	if c < from {
		return nil, []Gap{{"n", "backwards"}}
	}
	return map[string]float64{"n": float64(c - from)}, nil
}

func (s *script) Name() string { return s.name }

func (s *script) Read() (Sample, error) {
	*s.log = append(*s.log, s.name)
	next := s.reads[0]
	s.reads = s.reads[1:]
	if err, ok := next.(error); ok {
		return nil, err
	}
	return next.(count), nil
}

func TestWatch(t *testing.T) {
	var log []string
	gone, late := errors.New("no such file"), errors.New("gone within the window")
	w := NewCollectorSet([]Collector{
		&script{"good", []any{count(1), count(3), count(5), count(4), count(4), count(9)}, &log},
		&script{"missing", []any{gone, gone, gone}, &log},
		&script{"flaky", []any{count(1), late, count(2), count(3), count(9), count(8)}, &log},
	})
	type answer struct {
		Figures map[string]float64
		Missing []Unavailable
	}
	want := []answer{
		{
			map[string]float64{"good_n": 2},
			[]Unavailable{{"missing", "", "no such file"}, {"flaky", "", "gone within the window"}},
		},
		// A collector that is still missing is not reported again.
		{map[string]float64{"flaky_n": 1}, []Unavailable{{"good", "good_n", "backwards"}}},
		{map[string]float64{"good_n": 5}, []Unavailable{{"flaky", "flaky_n", "backwards"}}},
	}
	var got []answer
	for range want {
		window := w.Start().Stop()
		got = append(got, answer{window.Metrics, window.Missing})
	}
	must.Equal(t, want, got)
	// The cheapest one, first in the list, is read closest to the timed part; when a window
	// closes, collectors that were missing when it opened are not read.
	order := []string{"flaky", "missing", "good", "good", "flaky"}
	must.Equal(t, order, log[:len(order)])
}

func TestUnavailableString(t *testing.T) {
	got := []string{
		Unavailable{"cpu", "", "no /proc/stat"}.String(),
		Unavailable{"cpu", "cpu_idle", "the counter went backwards"}.String(),
	}
	want := []string{"collector cpu: no /proc/stat", "cpu_idle: the counter went backwards"}
	must.Equal(t, want, got)
}

func TestCollectorsNamesDiffer(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range Collectors(t.TempDir(), Own{}) {
		must.True(t, c.Name() != "" && !seen[c.Name()], "name %q is empty or taken", c.Name())
		seen[c.Name()] = true
	}
}

func TestMissingProcIsToldOnce(t *testing.T) {
	w := NewCollectorSet(Collectors(t.TempDir(), Own{}))
	first := w.Start().Stop()
	var figures, missing []string
	for name := range first.Metrics {
		figures = append(figures, name)
	}
	for _, m := range first.Missing {
		missing = append(missing, m.Collector)
	}
	slices.Sort(figures)
	// The clocks need no procfs.
	must.Equal(t, []string{"clock_elapsed", "clock_step"}, figures)
	must.Equal(t, []string{"cpu", "pressure", "memory", "others"}, missing)
	must.EqualFor(t, "second window tells again", 0, len(w.Start().Stop().Missing))
}
