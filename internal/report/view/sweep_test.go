package view

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/report/text"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// The first screen says of a sweep up to which load each mode loses nothing, and how much it loses at the next one.
func TestKneeOnFirstScreen(t *testing.T) {
	in := settled()
	notes := New(in).Overview().Explanations
	const want = "udp_sweep: host: no loss up to 1Gbit/s; netns/bridge: no loss up to 500Mbit/s, 0.222 (0.000-0.732) % at 1Gbit/s; netns/vxlan: no loss up to 500Mbit/s, 2.00 (1.99-2.01) % at 1Gbit/s"
	if got := notes[0].String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
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
	in := settled()
	in.Run.Cells = slices.DeleteFunc(in.Run.Cells, func(c result.Cell) bool { return c.Mode != "host" })
	in.Trials = slices.DeleteFunc(in.Trials, func(t result.Trial) bool { return t.Mode != "host" })
	must.Equal(t, "The run failed: no mode that is compared with a baseline has a value.", New(in).Overview().Sentence)
}

// No loss at a load that the sender did not offer is no statement about that load.
func TestKneeOfShortSender(t *testing.T) {
	zero, lost := &result.Cell{Value: new(0.0)}, &result.Cell{Value: new(0.02)}
	rows := func(short string, cells ...*result.Cell) (out []sweepRow) {
		for i, c := range cells {
			out = append(out, sweepRow{Rate: []string{"1Gbit/s", "2Gbit/s", "4Gbit/s"}[i], Loss: []string{"x"}, cells: []*result.Cell{c}, short: []bool{short[i] == 's'}})
		}
		return out
	}
	for _, c := range []struct {
		rows         []sweepRow
		brief, words string
	}{
		{rows("...", zero, zero, zero), "no loss up to 4Gbit/s", "loses nothing up to 4Gbit/s in s"},
		{rows(".s.", zero, zero, zero), "no loss up to 1Gbit/s, the sender did not reach 2Gbit/s", "loses nothing up to 1Gbit/s in s; the sender did not reach 2Gbit/s"},
		{rows("sss", zero, zero, zero), "the sender did not reach 1Gbit/s", "lost nothing in s, but the sender did not reach 1Gbit/s"},
		{rows(".ss", zero, zero, lost), "no loss up to 1Gbit/s, x % at 4Gbit/s", "loses from 4Gbit/s on in s (x % there)"},
		{rows("...", lost, zero, zero), "x % at 1Gbit/s", "loses from 1Gbit/s on in s (x % there)"},
		{rows("...", nil, nil, nil), "", ""},
	} {
		s := sweep{ID: "s", Modes: []string{"m"}, Rows: c.rows}
		k, _ := s.knee("m")
		must.Equal(t, []string{c.brief, c.words}, []string{k.brief(), s.words("m")})
	}
}

// What was offered is that of the same mode and load.
func TestUnderoffered(t *testing.T) {
	in := settled()
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
