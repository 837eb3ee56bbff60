package wire

import (
	"strings"
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// Every key of a workload reaches an agent with its value, and a key that is not set stays absent.
func TestWorkloadsArrive(t *testing.T) {
	literals := []study.Literal{
		{Kind: study.WholeLiteral, Text: "7"}, {Kind: study.FractionLiteral, Text: "0.5"}, {Kind: study.TextLiteral, Text: "1m30.5s"},
		{Kind: study.TextLiteral, Text: "7Mbit/s"}, {Kind: study.TruthLiteral, Text: "false"}, {Kind: study.TextLiteral, Text: "auto"},
	}
	arrived := func(w study.Workload) study.Workload {
		var line strings.Builder
		must.Do(t, Write(&line, Request{Op: OpDial, Params: &traffic.Params{Workload: w}}))
		var got Request
		must.Do(t, NewReader(strings.NewReader(line.String())).Read(&got))
		return got.Params.Workload
	}
	must.Equal(t, study.Workload{}, arrived(study.Workload{}))
	for i, f := range new(study.Workload).Fields() {
		set := 0
		for _, l := range literals {
			var w study.Workload
			read := false
			switch v := w.Fields()[i].Value.(type) {
			case study.CountsValue:
				read = v.One.Read(l)
			case study.Plain:
				read = v.Read(l)
			case study.Sequence:
				read = v.Read(l)
			}
			if read {
				set++
				must.EqualFor(t, f.Key+" "+l.Text, w, arrived(w))
			}
		}
		must.True(t, set != 0, "no value of %s was sent", f.Key)
	}
}
