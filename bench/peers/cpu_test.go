package peers

import (
	"testing"

	"tare/internal/testkit/must"
)

func TestDominated(t *testing.T) {
	even, uneven := []evenness{{p50: 1, p99: 2}}, []evenness{{p50: 3, p99: 4}}
	for _, c := range []struct {
		ours, theirs float64
		us, them     []evenness
		want         string
	}{
		{2, 1, uneven, even, "yes"},
		{1, 2, uneven, even, "no"}, // more expensive
		{2, 1, even, uneven, "no"}, // less even
		{1, 1, even, even, "no"},
	} {
		must.EqualFor(t, c, c.want, dominated(c.ours, c.theirs, c.us, c.them))
	}
}
