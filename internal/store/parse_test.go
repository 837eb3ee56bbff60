package store

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Trials come in the order of their lines, and of several lines that are broken the first is
// named.
func TestParseInOrder(t *testing.T) {
	const n = 9000
	var lines []string
	for i := range n {
		lines = append(lines, lineOf(i+1)+strings.Repeat(" ", i%7)+"\n")
	}
	text := strings.Join(lines, "")
	must.Require(t, len(text) >= 3*readSize, "%d bytes are read at once", len(text))
	for _, c := range []struct {
		name    string
		broken  []int // lines, from 0
		cut     int   // bytes off the end
		end     error // of reading
		want    int   // trials
		badLine int
	}{
		{name: "whole", want: n},
		{name: "cut", cut: 20, want: n - 1},
		{name: "broken", broken: []int{n - 1, 4000, 8000}, badLine: 4001},
		{name: "the first broken", broken: []int{0}, badLine: 1},
		{name: "the last broken", broken: []int{n - 1}, badLine: n},
		{name: "a disk that fails", end: errors.New("input/output error"), badLine: n + 1},
		{name: "broken before the disk fails", broken: []int{77}, end: errors.New("input/output error"), badLine: 78},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := slices.Clone(lines)
			for _, i := range c.broken {
				own[i] = "{\n"
			}
			whole := strings.Join(own, "")
			var r io.Reader = strings.NewReader(whole[:len(whole)-c.cut])
			if c.end != nil {
				r = io.MultiReader(r, iotest.ErrReader(c.end))
			}
			got, end, line, err := parseTrials(r, partial{}.parse, maxMemory)
			must.Require(t, (err != nil) == (c.badLine > 0) && (err == nil || line == c.badLine), "line %d: %v", line, err)
			must.Require(t, len(got) == c.want && (err != nil || end.offset == int64(len(strings.Join(lines[:c.want], "")))), "%d trials that end at %d", len(got), end.offset)
			for i, tr := range got {
				must.Require(t, tr.Seq == i+1, "trial %d is at %d", tr.Seq, i+1)
			}
		})
	}
}

func TestLoadLean(t *testing.T) {
	whole := sample(1)
	whole.Machine = map[string]float64{"cpu_user": 1, "memory_available": 2}
	whole.Counters = map[string]uint64{"a/eth0.rx_bytes": 7}
	line := must.Get(encodeTrial(whole))(t)
	d := must.Get(Open(onDisk(t, map[string]string{TrialsFile: string(line), RunFile: `{"schema":"tare.run/1","trials":{"ok":1000000000}}`})))(t)
	defer d.Close()
	run, got, err := d.LoadPartial()
	must.Require(t, err == nil && run.Trials.OK == 1000000000 && len(got) == 1, "%v, %+v, %d trials", err, run.Trials, len(got))
	want := must.Get(parseTrial(line))(t)
	want.Counters, want.Pairs = nil, nil
	want.Client, want.Server = settings(want.Client), settings(want.Server)
	must.Equal(t, want, got[0])
}

// Of a run that has its cells nothing is read that is only there to judge it.
func TestLoadLeanJudged(t *testing.T) {
	whole := sample(1)
	whole.Machine, whole.Notes = map[string]float64{"cpu_user": 1}, []result.Note{{Code: "c", Text: "t"}}
	whole.Limits, whole.Stacks = []result.TCPLimits{{}}, &result.Stacks{Busy: 1}
	served := whole
	served.Seq = 2
	served.Processes = []result.ProcessCPU{{Name: "docker-proxy", CPU: 0.5}}
	text := must.Get(encodeTrial(whole))(t)
	text = append(text, must.Get(encodeTrial(served))(t)...)
	run := must.Get(EncodeRun(wholeRun()))(t)
	d := must.Get(Open(onDisk(t, map[string]string{TrialsFile: string(text), RunFile: string(run)})))(t)
	defer d.Close()
	_, got, err := d.LoadPartial()
	must.Require(t, err == nil && len(got) == 2, "%d trials, %v", len(got), err)
	for _, tr := range got {
		must.True(t, tr.Client == nil && tr.Notes == nil && tr.Limits == nil && tr.Stacks == nil && tr.Metrics["goodput"] == 9.41e9 && len(tr.Series.Values) == 3, "%+v", tr)
	}
	must.True(t, got[0].Machine == nil && got[1].Machine["cpu_user"] == 1, "machine %v, with processes %v", got[0].Machine, got[1].Machine)
}
