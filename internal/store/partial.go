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

// partial configures which fields of trials [Dir.LoadPartial] reads in addition to those
// that every reader needs.
type partial struct {
	forJudging bool // fields that only the evaluation needs
	machine    bool // CPU metrics of the machines; else only for trials in which a mode has processes of its own
	only       bool // nothing that only reports need
}

// partialFor returns what readers of a run need of its trials: a run with cells is
// already evaluated.
func partialFor(run result.Run) partial {
	judged := len(run.Cells) > 0
	return partial{forJudging: !judged, machine: !judged || len(run.Scenarios) > 0}
}

// parse reads a line of trials.ndjson. It accepts what parseTrial accepts, and also other
// types in the fields that it skips.
func (l partial) parse(line []byte) (result.Trial, error) {
	t, err := l.parseNeeded(line)
	if err == nil {
		t, err = checked(t, line, nil)
	} else {
		// The line is invalid, and parseTrial returns the usual error, or it is unusual.
		t, err = parseTrial(line)
	}
	l.removeUnneeded(&t)
	return t, err
}

// parseSummary reads what a list of runs shows of a line.
func parseSummary(line []byte) (result.Trial, error) {
	t, err := partial{}.parse(line)
	t.Metrics, t.Machine, t.Series, t.Search, t.Steps, t.Processes = nil, nil, nil, nil, nil, nil
	return t, err
}

// parseNeeded reads only the required fields of a line.
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
	// Field names match as in encoding/json. Every other difference of this library, such
	// as for duplicate names, is an error.
	names := json.JoinOptions(json.MatchCaseInsensitiveNames(true), jsonv1.MatchCaseSensitiveDelimiter(true))
	err := json.Unmarshal(line, into, names)
	if err == nil && len(p.Machine) > 0 && l.wantsMachine(&p.Trial) {
		err = json.Unmarshal(p.Machine, &p.Trial.Machine)
	}
	return p.Trial, err
}

// partialTrial is a trial without the fields that no partial reader needs. Its own fields
// take precedence over those of the trial.
type partialTrial struct {
	result.Trial
	Counters skippedValue   `json:"counters"`
	Pairs    skippedValue   `json:"pairs"`
	Machine  jsontext.Value `json:"machine"` // decoded later
}

// toJudge is what is read of a trial that has not been evaluated, wasJudged of one that
// has.
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

// skippedValue is a value that is skipped.
type skippedValue struct{}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (*skippedValue) UnmarshalJSONFrom(d *jsontext.Decoder) error { return d.SkipValue() }

// wantsMachine reports whether the machine metrics of a trial are needed.
func (l partial) wantsMachine(t *result.Trial) bool { return l.machine || len(t.Processes) > 0 }

// removeUnneeded removes fields that are not needed.
func (l partial) removeUnneeded(t *result.Trial) {
	t.Counters, t.Pairs = nil, nil
	if l.forJudging {
		t.Client, t.Server = settings(t.Client), settings(t.Server)
	} else {
		t.Client, t.Server = nil, nil
	}
	if l.only {
		t.Series, t.Steps, t.Processes = nil, nil, nil
	}
	if !l.wantsMachine(t) {
		t.Machine = nil
	}
	if !l.forJudging {
		maps.DeleteFunc(t.Machine, func(name string, _ float64) bool { return !aboutCPUs(name) })
		t.Tool, t.Notes, t.Losses, t.Stacks, t.Limits, t.Distributions = nil, nil, nil, nil, nil, nil
	}
	// These have few distinct values in very many trials.
	t.Schema, t.Mode, t.Workload = one(t.Schema), one(t.Mode), one(t.Workload)
	t.Experiment, t.Tare = one(t.Experiment), one(t.Tare)
}

// DropJudged removes from the trials of an evaluated run what LoadPartial would not have
// read of it, and returns about how many bytes the rest takes.
func DropJudged(run result.Run, trials []result.Trial) (memory int64) {
	l := partialFor(run)
	for i := range trials {
		l.removeUnneeded(&trials[i])
		memory += memoryOf(&trials[i])
	}
	return memory
}

// settings returns what the evaluation needs of an endpoint: its connection settings.
func settings(e *result.End) *result.End {
	if e == nil {
		return nil
	}
	return &result.End{MSS: e.MSS, Congestion: e.Congestion, SendBuffer: e.SendBuffer, ReceiveBuffer: e.ReceiveBuffer}
}

// aboutCPUs reports whether a machine metric is about its CPUs.
func aboutCPUs(name string) bool { return strings.HasPrefix(name, "cpu_") }

// one returns a shared copy of a string.
func one(s string) string { return unique.Make(s).Value() }
