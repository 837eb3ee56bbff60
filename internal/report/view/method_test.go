package view

import (
	"bytes"
	"testing"

	"tare/internal/report/view/model"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/reports"
)

// A pilot trial is no trial of a cell: it is in no chart and in no count of blocks.
func TestPilotsAreNotDrawn(t *testing.T) {
	figures := New(reports.Settled()).Figures()
	svg := figures["tcp_stream-goodput.svg"]
	must.True(t, len(svg) != 0 && !bytes.Contains(svg, []byte("block 0")) && !bytes.Contains(svg, []byte("99.0 Gbit/s")), "a pilot trial is drawn")
	// Of the set that was run once more, the first outcomes are crosses.
	must.EqualFor(t, "trials whose set was run once more, drawn as ruled out", 3, bytes.Count(figures["tcp_rr-transaction_rate.svg"], []byte("run again, with all of its set")))
}

// A workload of which no trial gave a figure is told of all the same, and a mode
// without one in a table of others.
func TestWorkloadWithoutFigures(t *testing.T) {
	trial := result.Trial{Block: 1, Mode: "host", Workload: "udp_search", Status: result.TrialOK}
	in := model.Input{Run: result.Run{Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}}}, Trials: []result.Trial{trial}}
	for form, text := range everything(in) {
		if form != "Markdown" { // which has the first screen
			must.ContainFor(t, form, text, "No value from 1 trial")
		}
	}
}
