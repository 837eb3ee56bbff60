package store

import (
	"maps"
	"strings"
	"unique"

	"tare/internal/result"
)

// partial configures which fields of trials [Dir.LoadPartial] keeps in addition to those
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

// parse reads a line of trials.ndjson.
func (l partial) parse(line []byte) (result.Trial, error) {
	t, err := parseTrial(line)
	l.removeUnneeded(&t)
	return t, err
}

// parseSummary reads what a list of runs shows of a line.
func parseSummary(line []byte) (result.Trial, error) {
	t, err := partial{}.parse(line)
	t.Metrics, t.Machine, t.Series, t.Search, t.Steps, t.Processes = nil, nil, nil, nil, nil, nil
	return t, err
}

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
	if !l.machine && len(t.Processes) == 0 {
		t.Machine = nil
	}
	if !l.forJudging {
		maps.DeleteFunc(t.Machine, func(name string, _ float64) bool { return !aboutCPUs(name) })
		t.Tool, t.Notes, t.Attempts, t.Losses, t.Stacks, t.Limits, t.Distributions = nil, nil, nil, nil, nil, nil, nil
	}
	// These have few distinct values in very many trials.
	t.Schema, t.Mode, t.Workload = one(t.Schema), one(t.Mode), one(t.Workload)
	t.Experiment, t.FactsHash, t.Tare = one(t.Experiment), one(t.FactsHash), one(t.Tare)
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

// settings returns what the evaluation needs of an endpoint: its CPU and its connection settings.
func settings(e *result.End) *result.End {
	if e == nil {
		return nil
	}
	return &result.End{CPU: e.CPU, OwnTime: e.OwnTime, MSS: e.MSS, Congestion: e.Congestion, SendBuffer: e.SendBuffer, ReceiveBuffer: e.ReceiveBuffer}
}

// aboutCPUs reports whether a machine metric is about its CPUs.
func aboutCPUs(name string) bool { return strings.HasPrefix(name, "cpu_") }

// one returns a shared copy of a string.
func one(s string) string { return unique.Make(s).Value() }
