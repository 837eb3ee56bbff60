package doc

import (
	"testing"

	"tare/internal/testkit/must"
)

// Columns of one workload's kind have one explanation.
func TestLegends(t *testing.T) {
	o := Overview{Legend: []string{"? cannot tell"}}
	must.Equal(t, []string{"? cannot tell", "+us for each transaction", "+us for each connection"}, o.Legends(
		OverviewColumn{Legend: "+us for each transaction"}, OverviewColumn{}, OverviewColumn{Legend: "+us for each connection"}, OverviewColumn{Legend: "+us for each transaction"}))
	must.Equal(t, 1, len(o.Legend))
}
