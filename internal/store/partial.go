package store

import (
	"maps"
	"strings"
	"unique"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"tare/internal/result"
)

// partial says what [Dir.LoadPartial] reads of trials beside what every reader needs.
type partial struct {
	toJudge bool // what only judging looks at
	machine bool // the figures of machines about their CPUs; else only of trials in which a mode had processes of its own
}

// partialFor is what readers of a run need of its trials: one that has its cells is judged.
func partialFor(run result.Run) partial {
	judged := len(run.Cells) > 0
	return partial{toJudge: !judged, machine: !judged || len(run.Scenarios) > 0}
}

// parse reads a line of trials.ndjson. It accepts what parseTrial accepts, and what has
// other types in what is left out.
func (l partial) parse(line []byte) (result.Trial, error) {
	t, err := l.quickly(line)
	if err == nil {
		t, err = checked(t, line, nil)
	} else {
		// Wrong, which is told as by every other reader, or out of the ordinary.
		t, err = parseTrial(line)
	}
	l.slim(&t)
	return t, err
}

// quickly reads of a line what is needed, and little more.
func (l partial) quickly(line []byte) (result.Trial, error) {
	if l.toJudge {
		var some toJudge
		return l.read(line, &some, &some.part)
	}
	var some wasJudged
	return l.read(line, &some, &some.part)
}

// read decodes a line into a part of a trial.
func (l partial) read(line []byte, into any, p *part) (result.Trial, error) {
	// Names stand for members as they do for encoding/json. All else that this library does
	// in another way, such as with a name that comes twice, is an error to it.
	names := json.JoinOptions(json.MatchCaseInsensitiveNames(true), jsonv1.MatchCaseSensitiveDelimiter(true))
	err := json.Unmarshal(line, into, names)
	if err == nil && len(p.Machine) > 0 && l.wantsMachine(&p.Trial) {
		err = json.Unmarshal(p.Machine, &p.Trial.Machine)
	}
	return p.Trial, err
}

// part is a trial without what no reader of lean ones wants. Its own members go before
// those of the trial.
type part struct {
	result.Trial
	Counters passed         `json:"counters"`
	Pairs    passed         `json:"pairs"`
	Machine  jsontext.Value `json:"machine"` // for later
}

// toJudge is what is read of a trial that is still to be judged, wasJudged of another.
type (
	toJudge   struct{ part }
	wasJudged struct {
		part
		Client        passed `json:"client"`
		Server        passed `json:"server"`
		Tool          passed `json:"tool"`
		Notes         passed `json:"notes"`
		Losses        passed `json:"losses"`
		Stacks        passed `json:"stacks"`
		Limits        passed `json:"limits"`
		Distributions passed `json:"distributions"`
	}
)

// passed is a value that is passed over.
type passed struct{}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (*passed) UnmarshalJSONFrom(d *jsontext.Decoder) error { return d.SkipValue() }

// wantsMachine is whether a trial's figures of the machine are needed.
func (l partial) wantsMachine(t *result.Trial) bool { return l.machine || len(t.Processes) > 0 }

// slim leaves out what is not needed.
func (l partial) slim(t *result.Trial) {
	t.Counters, t.Pairs = nil, nil
	if l.toJudge {
		t.Client, t.Server = settings(t.Client), settings(t.Server)
	} else {
		t.Client, t.Server = nil, nil
	}
	if !l.wantsMachine(t) {
		t.Machine = nil
	}
	if !l.toJudge {
		maps.DeleteFunc(t.Machine, func(name string, _ float64) bool { return !aboutCPUs(name) })
		t.Tool, t.Notes, t.Losses, t.Stacks, t.Limits, t.Distributions = nil, nil, nil, nil, nil, nil
	}
	// Of these there are few, and very many trials.
	t.Schema, t.Mode, t.Workload = one(t.Schema), one(t.Mode), one(t.Workload)
}

// settings is what judging looks at of an end: how its connection was set.
func settings(e *result.End) *result.End {
	if e == nil {
		return nil
	}
	return &result.End{MSS: e.MSS, Congestion: e.Congestion, SendBuffer: e.SendBuffer, ReceiveBuffer: e.ReceiveBuffer}
}

// aboutCPUs says that a figure of a machine is about its CPUs.
func aboutCPUs(name string) bool { return strings.HasPrefix(name, "cpu_") }

// one is the one copy that there is of a string.
func one(s string) string { return unique.Make(s).Value() }
