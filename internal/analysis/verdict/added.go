package verdict

import (
	"strings"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/stats"
)

// added is the time that a cell adds to its baseline; nil for a metric that is no time, or a lower bound.
func (f *Family) added(i, base int) *result.Added {
	unit, rate, ok := TimeOf(f.metric, f.serial)
	if !ok || f.cells[i].AtLeast || f.cells[base].AtLeast {
		return nil
	}
	a := Amount(readings.Differences(readings.TimesOf(f.values[i], rate), readings.TimesOf(f.values[base], rate)))
	if a == nil || !readings.Finite(a.Value) {
		return nil
	}
	return &result.Added{Amount: *a, Unit: unit}
}

// TimeOf is the unit of a metric as a time, and the rate of [readings.TimesOf]; ok is false for one that is no time. A rate is one only
// if its exchanges follow each other: with several at once, or on a schedule, its inverse is no exchange's time.
func TimeOf(m result.Metric, serial bool) (unit string, rate float64, ok bool) {
	unit = m.Unit
	for _, u := range TimeUnits() {
		if u.Metric == m.Name {
			unit, rate = u.Unit, u.Rate
		}
	}
	time := unit == "s" || strings.HasPrefix(unit, "s/")
	return unit, rate, time && rate <= 1 && (rate != 1 || serial)
}

// TimeUnit is a metric with the unit in which it is a time. rate is how many units of a rate are in
// one of unit; 0 for a cost.
type TimeUnit struct {
	Metric, Unit string
	Rate         float64
}

// TimeUnits are the metrics whose values can be divided among parts, with the units of
// the parts: costs, and rates, which are converted to the time of one unit.
func TimeUnits() []TimeUnit {
	return []TimeUnit{
		{"transaction_rate", "s/transaction", 1},
		{"connection_rate", "s/connection", 1},
		{"query_rate", "s/query", 1},
		{"goodput", "s/Gbit", 1e9},
		{result.CPUCost, "s/Gbit", 0},
		{result.CPUCostTransactions, "s/1000 transactions", 0},
		{result.CPUCostConnections, "s/1000 connections", 0},
	}
}

// Amount is the mean of values with its interval, nil for none.
func Amount(of []readings.Reading) *result.Amount {
	if len(of) == 0 {
		return nil
	}
	e, err := stats.MeanIntervalBySetup(readings.Plain(of), readings.SetupsOf(of), readings.Confidence)
	if err != nil {
		return nil
	}
	a := &result.Amount{Value: e.Value, N: len(of)}
	if e.HasInterval {
		a.CI = &result.Interval{e.Lo, e.Hi}
	}
	return a
}
