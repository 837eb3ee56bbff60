package view

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/report/text"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// The first screen says of a sweep up to which load each mode loses nothing, and how much it loses at the next one.
func TestKneeOnFirstScreen(t *testing.T) {
	in := reports.Settled()
	notes := New(in).Overview().Explanations
	const want = "udp_sweep: host: no loss up to 1Gbit/s; netns/bridge: no loss up to 500Mbit/s, 0.222 (0.000-0.732) % at 1Gbit/s; netns/vxlan: no loss up to 500Mbit/s, 2.00 (1.99-2.01) % at 1Gbit/s"
	must.Equal(t, want, notes[0].String())
	screen := strings.Join(strings.Fields(string(text.Overview(New(in).Overview(), text.Options{Width: 100}))), " ")
	must.Contain(t, screen, "netns/bridge: no loss up to 500Mbit/s")
	in.Run.Cells = slices.DeleteFunc(in.Run.Cells, func(c result.Cell) bool { return !strings.HasPrefix(c.Workload, "udp_sweep") })
	in.Trials = slices.DeleteFunc(in.Trials, func(t result.Trial) bool { return !strings.HasPrefix(t.Workload, "udp_sweep") })
	in.Run.Comparisons = nil
	o := New(in).Overview()
	must.Equal(t, want+".", o.Sentence) // and not once more below it
	must.Equal(t, 0, len(o.Explanations))
}

// A run whose modes have no value beside the baseline's has failed, and the first screen says so.
func TestEmptyTableIsFailure(t *testing.T) {
	in := reports.Settled()
	in.Run.Cells = slices.DeleteFunc(in.Run.Cells, func(c result.Cell) bool { return c.Mode != "host" })
	in.Trials = slices.DeleteFunc(in.Trials, func(t result.Trial) bool { return t.Mode != "host" })
	must.Equal(t, "The run failed: no mode that is compared with a baseline has a value.", New(in).Overview().Sentence)
}

// What was offered is that of the same mode and load.
func TestUnderoffered(t *testing.T) {
	in := reports.Settled()
	for _, c := range in.Run.Cells {
		if c.Workload != "udp_sweep@1Gbit/s" || c.Metric != "loss_ratio" {
			continue
		}
		c.Metric, c.Unit, c.Better, c.Value = "offered_load", "bit/s", result.Higher, new(0.99e9)
		if c.Mode == "host" {
			c.Value = new(0.9e9)
		}
		in.Run.Cells = append(in.Run.Cells, c)
	}
	must.Contain(t, New(in).Overview().Explanations[0].String(), "host: no loss up to 500Mbit/s, the sender did not reach 1Gbit/s; netns/bridge: no loss up to 500Mbit/s, 0.222 ")
}
