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
	forJudging bool // what only judging looks at
	machine    bool // the figures of machines about their CPUs; else only of trials in which a mode had processes of its own
}

// partialFor is what readers of a run need of its trials: one that has its cells is judged.
func partialFor(run result.Run) partial {
	judged := len(run.Cells) > 0
	return partial{forJudging: !judged, machine: !judged || len(run.Scenarios) > 0}
}

// parse reads a line of trials.ndjson. It accepts what parseTrial accepts, and what has
// other types in what is left out.
func (l partial) parse(line []byte) (result.Trial, error) {
	t, err := l.parseNeeded(line)
	if err == nil {
		t, err = checked(t, line, nil)
	} else {
		// Wrong, which is told as by every other reader, or out of the ordinary.
		t, err = parseTrial(line)
	}
	l.removeUnneeded(&t)
	return t, err
}

// parseNeeded reads of a line what is needed, and little more.
func (l partial) parseNeeded(line []byte) (result.Trial, error) {
	if l.forJudging {
		var some judgingTrial
		return l.read(line, &some, &some.partialTrial)
	}
	var some judgedTrial
	return l.read(line, &some, &some.partialTrial)
}

// read decodes a line into a part of a trial.
func (l partial) read(line []byte, into any, p *partialTrial) (result.Trial, error) {
	// Names stand for members as they do for encoding/json. All else that this library does
	// in another way, such as with a name that comes twice, is an error to it.
	names := json.JoinOptions(json.MatchCaseInsensitiveNames(true), jsonv1.MatchCaseSensitiveDelimiter(true))
	err := json.Unmarshal(line, into, names)
	if err == nil && len(p.Machine) > 0 && l.wantsMachine(&p.Trial) {
		err = json.Unmarshal(p.Machine, &p.Trial.Machine)
	}
	return p.Trial, err
}

// partialTrial is a trial without what no reader of lean ones wants. Its own members go before
// those of the trial.
type partialTrial struct {
	result.Trial
	Counters skippedValue   `json:"counters"`
	Pairs    skippedValue   `json:"pairs"`
	Machine  jsontext.Value `json:"machine"` // for later
}

// toJudge is what is read of a trial that is still to be judged, wasJudged of another.
type (
	judgingTrial struct{ partialTrial }
	judgedTrial  struct {
		partialTrial
		Client        skippedValue `json:"client"`
		Server        skippedValue `json:"server"`
		Tool          skippedValue `json:"tool"`
		Notes         skippedValue `json:"notes"`
		Losses        skippedValue `json:"losses"`
		Stacks        skippedValue `json:"stacks"`
		Limits        skippedValue `json:"limits"`
		Distributions skippedValue `json:"distributions"`
	}
)

// skippedValue is a value that is passed over.
type skippedValue struct{}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (*skippedValue) UnmarshalJSONFrom(d *jsontext.Decoder) error { return d.SkipValue() }

// wantsMachine is whether a trial's figures of the machine are needed.
func (l partial) wantsMachine(t *result.Trial) bool { return l.machine || len(t.Processes) > 0 }

// removeUnneeded leaves out what is not needed.
func (l partial) removeUnneeded(t *result.Trial) {
	t.Counters, t.Pairs = nil, nil
	if l.forJudging {
		t.Client, t.Server = settings(t.Client), settings(t.Server)
	} else {
		t.Client, t.Server = nil, nil
	}
	if !l.wantsMachine(t) {
		t.Machine = nil
	}
	if !l.forJudging {
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
