package section

import (
	"math"
	"testing"

	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// Each mode has a line with its percentiles; a limit that is not known, or is no number, is unknown.
func TestSetupTimes(t *testing.T) {
	in := reports.Drawable(1)
	id := in.Run.Modes[1].ID
	low, high, bad := 0.2, 0.31, math.NaN()
	one := result.Percentile{Value: 0.25, Low: &low, High: &high}
	in.Run.SetupTimes = []result.SetupTime{
		{Mode: id, Workload: "setup", Metric: result.SetupSandbox, Setups: 36, P50: one, P90: result.Percentile{Value: 0.3, Low: &low}},
		{Mode: id, Workload: "setup", Step: "DEL bridge", Setups: 35, P50: result.Percentile{Value: 0.004, High: &bad}, P90: result.Percentile{Value: bad}},
		{Mode: id, Workload: "setup", Metric: "goodput", Setups: 36},
	}
	in.Run.SetupGrowths = []result.SetupGrowth{
		{Modes: []string{in.Run.Modes[0].ID, id}, Workload: "setup", Metric: result.SetupFirstByte, Setting: "ports", Numbers: []int{0, 100}, Setups: 72, Per100: 0.0312, Low: -0.001, High: 0.0405},
	}
	must.Equal(t, []string{
		"setup, " + id + ", 36 set-ups: sandbox exists 250 ms (200 to 310), 90th percentile 300 ms (200 to unknown); DEL bridge, 35 set-ups 4.00 ms (unknown to unknown), 90th percentile -",
		"setup, " + in.Run.Modes[0].ID + ", " + id + ": first byte 31.2 ms (-1.00 to 40.5) later for each 100 ports, the slope of Theil and Sen over 72 set-ups with 0, 100",
	}, setupItems(model.New(in)))
	in.Run.Modes[1].Status = result.ModeVoid
	must.Equal(t, 0, len(setupItems(model.New(in))))
}
