package view

import (
	"strings"
	"testing"

	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// A comparison shows no figure of a mode that was not measured, whatever a file
// says.
func TestComparisonOfUnmeasured(t *testing.T) {
	in := reports.Sdn()
	for i := range in.Run.Modes {
		if in.Run.Modes[i].ID == "docker/bridge" {
			in.Run.Modes[i].Status, in.Run.Modes[i].Reason = result.ModeVoid, "docker0 rested"
		}
	}
	for _, c := range model.New(in).Comparisons {
		must.True(t, len(c.Lines) == 0 || !strings.Contains(c.Where, "docker/bridge"), "%s: %d figures of a mode that is void", c.ID, len(c.Lines))
	}
}
