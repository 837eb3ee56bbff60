package view

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/report/chart"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// tailed are n durations about a median, of which ever fewer took ever longer.
func tailed(median float64, n int64) result.Distribution {
	durations := map[float64]int64{}
	for i := range 12 {
		durations[median*(0.7+0.05*float64(i))] += n / 12
	}
	for i, left := 0, n/100; left > 0; i, left = i+1, left/3 {
		durations[median*2*math.Exp2(float64(i)/2)] += left
	}
	return *result.Distribute("rtt", durations)
}

// withECDFs is the sample with whole distributions of two modes; of the others it has
// percentiles.
func withECDFs() Input {
	in := sample()
	for i, mode := range []string{"host", "netns/vxlan", "netns/macvlan"} {
		in.Run.ECDFs = append(in.Run.ECDFs, result.ECDF{Mode: mode, Workload: "tcp_rr", Trials: 4 - i, Missing: i, Distribution: tailed(22e-6*float64(i+1), 120000)})
	}
	return in
}

func TestECDF(t *testing.T) {
	curves := newView(withECDFs()).Workloads[1].percentileCurves()
	if len(curves) != 1 {
		t.Fatalf("%d curves", len(curves))
	}
	s := curves[0].chart()
	must.Equal(t, []string{"host", "netns/published", "netns/vxlan", "host-local", "netns/bridge"}, s.Keys)
	lane := s.Plane.Lanes[0]
	for i, whole := range []bool{true, false, true, false, false} {
		l := lane.Lines[i]
		rising := slices.IsSortedFunc(l.Points, func(a, b chart.XY) int {
			return int(math.Copysign(1, a.X-b.X+a.Y-b.Y))
		})
		if l.Dense != whole || whole != (len(l.Points) > 20) || !rising || l.Points[0].Y <= 0 {
			t.Errorf("line %d of %d points, dense %t, rising %t", i, len(l.Points), l.Dense, rising)
		}
	}
	must.Equal(t, 6, len(lane.Spots))
	must.ContainFor(t, "the caption", s.Caption, "in steps of 2.2 %", "Rings are such means", "Of 1 trial that count")
	if !strings.Contains(s.Plane.Title, "ECDF") || *s.Plane.X.Hi < 5 || *s.Plane.X.Hi > 6 {
		t.Errorf("%s, to %g", s.Plane.Title, *s.Plane.X.Hi)
	}
	f := chart.Figure{Title: "tcp_rr: " + s.Plane.Title, Desc: s.Desc, Planes: []chart.Plane{s.Plane}}
	golden(t, "tcp_rr-ecdf.svg", f.Standalone())

	b := curves[0].tableOf()
	for i, want := range [][]string{
		{"121796", "4", "15.6", "16.6", "22.1", "26.8", "44.1", "88.2", "176", "353"},
		{"means of trials", "-", "-", "-", "24.1", "-", "53.7", "-", "-", "-"},
	} {
		must.EqualFor(t, b.Rows[i].Name, want, b.Rows[i].Cells)
	}
	// Of one that was not measured nothing is shown, whatever a file has of it.
	void := slices.IndexFunc(b.Rows, func(r behindRow) bool { return r.Name == "netns/macvlan" })
	if text := strings.Join(b.Rows[void].Cells, " "); strings.Trim(text, "- ") != "" {
		t.Errorf("netns/macvlan, which is void: %s", text)
	}
}

// What is further out than there are durations is not told; a distribution that somebody
// edited is none.
func TestFewDurations(t *testing.T) {
	few := result.ECDF{Distribution: *result.Distribute("rtt", map[float64]int64{1e-5: 30, 2e-5: 20})}
	for q, want := range map[float64]bool{0.001: false, 0.5: true, 0.9: true, 0.99: false, 1: true} {
		if _, ok := pooledAt(few, q); ok != want {
			t.Errorf("quantile %g of 50: told %t", q, ok)
		}
	}
	in := withECDFs()
	for i := range in.Run.ECDFs {
		in.Run.ECDFs[i].Counts = in.Run.ECDFs[i].Counts[:3]
	}
	must.EqualFor(t, "distributions without counts", []*result.ECDF(nil), newView(in).Workloads[1].percentileCurves()[0].Pooled)
}

// A report of distributions that somebody edited can be written.
func TestEditedDistributions(t *testing.T) {
	in := withECDFs()
	for i := range in.Run.ECDFs {
		in.Run.ECDFs[i].Counts = in.Run.ECDFs[i].Counts[:3]
	}
	everything(in)
}
