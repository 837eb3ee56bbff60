package peers

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/testkit/must"
)

// The best peer is whoever leaves tare the worst ratio, not whoever has the
// highest median in an hour of its own.
func TestRow(t *testing.T) {
	w := work{name: "w", placement: "one core", unit: "k/s", scale: 1e3, ask: ">= 1.0", least: 1, aim: 1.2}
	names := []string{"tare", "a", "b"}
	values := [][]float64{{2000, 4000, 8000}, {1000, 2000, 4000}, {1900, 3800, 7600}}
	const least, most = "| w | one core | 4 k/s | b 3.8 k/s (a 2 k/s) | 1.053 (1.053-1.053) | >= 1.0: yes |", "| w | one core | 4 k/s | a 2 k/s (b 3.8 k/s) | 2.000 (2.000-2.000) | <= 1.0: no |"
	var ratios []float64
	s := testbed{ratios: &ratios}
	if got, _ := w.row(names, values); got != least {
		t.Errorf("row\n%s, want\n%s", got, least)
	}
	s.print(w, names, values)
	w.lower, w.ask, w.aim = true, "<= 1.0", 0
	if got, _ := w.row(names, values); got != most {
		t.Errorf("row\n%s, want\n%s", got, most)
	}
	s.print(w, names, values)
	s.print(w, names[:1], values[:1]) // nobody to compare with
	must.Equal(t, []float64{4.0 / 3.8, 0.5}, ratios, cmpopts.EquateApprox(0.01, 0))
}

func TestInterleaved(t *testing.T) {
	var order strings.Builder
	one := func(name string) contestant {
		return contestant{name, func(context.Context) (float64, error) {
			order.WriteString(name)
			return rand.Float64(), nil
		}}
	}
	values, err := interleaved(t.Context(), 3, []contestant{one("a"), one("b")})
	if err != nil || len(values[0]) != 3 || len(values[1]) != 3 || order.String() != "abbaab" {
		t.Errorf("%v, %v in the order %s", values, err, &order)
	}
}
