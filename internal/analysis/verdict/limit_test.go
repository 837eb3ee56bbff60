package verdict

import (
	"strings"
	"testing"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// A limit is kept or broken only where the whole interval is on one side of it.
func TestLimit(t *testing.T) {
	cells := []result.Cell{
		{Mode: "docker/driver:a.b", Workload: "rr", Metric: "rtt_p99", Value: new(30e-6), CI: &result.Interval{29e-6, 31e-6}},
		{
			Mode: "docker/driver:a.b", Workload: "rr", Metric: "transaction_rate", Value: new(5e4), CI: &result.Interval{4.9e4, 5.1e4}, Judgement: result.Judgement{Ratio: new(0.7), RatioCI: &result.Interval{0.68, 0.72}},
			Added: &result.Added{Amount: result.Amount{Value: 7e-6, CI: &result.Interval{6e-6, 8e-6}}, Unit: "s/transaction"},
		},
		{Mode: "m", Workload: "bulk", Metric: "goodput", Value: new(9e9), CI: &result.Interval{8.9e9, 9.1e9}},
		{Mode: "m", Workload: "loss", Metric: "loss_ratio", Value: new(0.02)},
		{Mode: "m", Workload: "few", Metric: "loss_ratio", Value: new(0.0), N: 2},
		{Mode: "m", Workload: "none", Metric: "loss_ratio", Value: new(0.0), N: 3},
		// Values that the generator limits: of the mode in one, of the baseline in the other.
		{Mode: "m", Workload: "up", Metric: "goodput", Baseline: "host", AtLeast: true, Value: new(9e9), CI: &result.Interval{8.9e9, 9.1e9}, Judgement: result.Judgement{Ratio: new(0.9), RatioCI: &result.Interval{0.89, 0.91}}},
		{Mode: "host", Workload: "up", Metric: "goodput", Value: new(1e10)},
		{Mode: "m", Workload: "down", Metric: "goodput", Baseline: "host", Value: new(9e9), CI: &result.Interval{8.9e9, 9.1e9}, Judgement: result.Judgement{Ratio: new(0.9), RatioCI: &result.Interval{0.89, 0.91}}},
		{Mode: "host", Workload: "down", Metric: "goodput", AtLeast: true, Value: new(1e10)},
	}
	for text, want := range map[string]LimitOutcome{
		"docker/driver:a.b.rr.time <= +8us":              LimitKept,
		"docker/driver:a.b.rr.time<=5us":                 LimitBroken,
		"docker/driver:a.b.rr.time <= 7us":               LimitOpen,
		"docker/driver:a.b.rr.change >= -35%":            LimitKept,
		"docker/driver:a.b.rr.change >= -20 %":           LimitBroken,
		"docker/driver:a.b.rr.rtt_p99 <= 31us":           LimitKept,
		"docker/driver:a.b.rr.transaction_rate >= 52000": LimitBroken,
		"m.bulk.goodput >= 8Gbit/s":                      LimitKept,
		"m.bulk.goodput >= 10Gbit/s":                     LimitBroken,
		"m.bulk.time <= 1us":                             LimitOpen,
		"m.loss.loss_ratio <= 1%":                        LimitOpen,
		"other.rr.time <= 1us":                           LimitOpen,
		"m.few.loss_ratio <= 1%":                         LimitOpen,
		"m.none.loss_ratio <= 1%":                        LimitKept,
		"m.up.goodput >= 8Gbit/s":                        LimitKept,
		"m.up.goodput >= 10Gbit/s":                       LimitOpen,
		"m.up.goodput <= 10Gbit/s":                       LimitOpen,
		"m.up.goodput <= 8Gbit/s":                        LimitBroken,
		"m.up.change >= -20%":                            LimitKept,
		"m.up.change >= -5%":                             LimitOpen,
		"m.down.change >= -20%":                          LimitOpen,
		"m.down.change >= -5%":                           LimitBroken,
		"m.down.goodput >= 8Gbit/s":                      LimitKept,
	} {
		got, why, _ := must.Get(ParseLimit(text))(t).Judge(cells)
		must.EqualFor(t, text, want, got)
		must.EqualFor(t, text+": an open one says why", want == LimitOpen, why != "")
	}
	for text, holds := range map[string]string{
		"docker/driver:a.b.rr.change <= +10%": "bound the other side, such as docker/driver:a.b.rr.change >= -10%", "docker/driver:a.b.rr.change >= -10%": "", "docker/driver:a.b.rr.time >= 1us": "",
	} {
		l := must.Get(ParseLimit(text))(t)
		_, _, cell := l.Judge([]result.Cell{{Mode: "docker/driver:a.b", Workload: "rr", Metric: "transaction_rate", Better: result.Higher}})
		got := l.Idle(*cell)
		must.True(t, (holds != "" || got == "") && strings.Contains(got, holds), "%s: %q, want %q", text, got, holds)
	}
	for text, why := range map[string]string{
		"a.b.time < 5us": "neither <= nor >=", "a.time <= 5us": "does not name", "a.b.speed <= 5": `no metric "speed"`,
		"a.b.time <= 5": `"5" is no value of time`, "a.b.change <= 5": "no value of change", "a.b.goodput >= fast": "no value of goodput", "a.b.time <=": "no value",
	} {
		_, err := ParseLimit(text)
		must.FailFor(t, text, err, why)
	}
}

// What is read names its mode and workload, which stand in the text, and a finite bound.
func FuzzParseLimit(f *testing.F) {
	for _, text := range []string{"docker/published.tcp_rr.time <= +5us", "a.b.change >= -5%", "..<=", "a.b.goodput>=1Gbit/s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLimit(text)
		must.True(t, err != nil || l.Mode != "" && l.Workload != "" && strings.HasPrefix(l.Text, l.Mode+"."+l.Workload+".") && readings.Finite(l.Bound), "%q: %+v", text, l)
	})
}
