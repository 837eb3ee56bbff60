package runner

import (
	"runtime"
	"testing"
	"weak"

	"tare/internal/traffic"
)

// The record of a trial is kept to the end of the run, and must not keep the reports that it
// was made from: each has histograms, and thousands of trials would fill the memory.
func TestRecordDoesNotKeepReports(t *testing.T) {
	made := func() (traffic.Report, weak.Pointer[traffic.Distribution]) {
		hist := traffic.NewDistribution()
		var rep traffic.Report
		rep.CPU, rep.TCP.RTT = 1, 0.001
		rep.Window.RTT, rep.Window.Slots, rep.Window.Missed = hist, 10, 1
		rep.Datagrams = &traffic.Datagrams{Delay: hist}
		return rep, weak.Make(hist)
	}
	rep, hist := made()
	record := end(rep, rep)
	rep.Window, rep.Datagrams = traffic.Window{}, nil
	runtime.GC()
	if hist.Value() != nil {
		t.Error("the record of a trial keeps a histogram of its report")
	}
	if record.CPU == nil || *record.CPU != 1 || record.RTT == nil || record.Datagrams == nil || record.Datagrams.Slots == nil || *record.Datagrams.Slots != 10 {
		t.Errorf("the record lacks values: %+v", record)
	}
	runtime.KeepAlive(record)
}
