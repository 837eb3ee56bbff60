package view

import (
	"strings"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// The figure has a bar for every part. That the first screen has them, those of a void mode together with the next, is
// in its golden file.
func TestExplained(t *testing.T) {
	svg := string(New(reports.Explained()).Figures()["tcp_rr-why-transaction_rate.svg"])
	n := strings.Count(svg, `<rect class="part k`)
	must.True(t, n >= 6, "%d bars in the waterfall", n)
}
