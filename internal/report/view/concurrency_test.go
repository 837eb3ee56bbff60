package view

import (
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// A report says where no curves cross.
func TestNoCrossing(t *testing.T) {
	in := reports.Concurrent()
	in.Run.Concurrencies[0].Crossings = nil
	must.ContainFor(t, "without a crossing", Text(in, TextOptions{Width: 200}), "No two curves are shown to cross.")
}
