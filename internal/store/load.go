package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"tare/internal/result"
	"tare/internal/warning"
)

// Load reads a run: run.json and its trials, in the order in which they ran.
//
// A run whose controller was killed has no run.json. It comes back as interrupted,
// with what its trials tell: when the first one started, how many there are, and
// the modes, without titles and baselines. A last line that was cut in the middle
// is dropped. If trials were added after run.json was written, the run is
// interrupted too, and a warning with code stale_run says that its cells lack
// them; if there are fewer, trials_missing says so. Without trials.ndjson there are no
// trials.
//
// Errors name the file and the line: broken JSON, an unknown schema (a later
// major version of tare wrote it), a line above 16 MiB, something that is not a plain
// file.
func (d *Dir) Load() (result.Run, []result.Trial, error) {
	return d.load(func(result.Run) parser { return parseTrial })
}

// LoadPartial is Load without what neither judging nor a report looks at, so that a run of
// very many trials takes little time and memory: the counters of paths, the pairs of
// several endpoints, and of the two ends all but how their connections were set. A run that
// is judged, which is one with cells, has in run.json what is summed up over its trials;
// without their ends, tools, notes, losses, stacks, limits and distributions, and of the
// machine's figures only those that begin with cpu_, for a run with scenarios and for trials
// in which a mode had processes of its own.
func (d *Dir) LoadPartial() (result.Run, []result.Trial, error) {
	return d.load(func(run result.Run) parser { return partialFor(run).parse })
}

func (d *Dir) load(of func(result.Run) parser) (result.Run, []result.Trial, error) {
	run, broken := d.readRun()
	absent := errors.Is(broken, fs.ErrNotExist)
	if broken != nil && !absent {
		run = result.Run{}
	}
	trials, _, err := d.readTrials(of(run), run.Trials.Total())
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return result.Run{}, nil, err // theirs is the file that all else is made of
	case absent:
		return runOf(trials), trials, nil
	case broken != nil:
		return result.Run{}, nil, broken
	}
	switch known := run.Trials.Total(); {
	case len(trials) > known:
		run.Status = result.RunInterrupted
		run.Warnings = append(run.Warnings, result.Warning{Code: string(warning.StaleRun), Scope: "run", Text: fmt.Sprintf(
			"%s holds %d trials, %s was written after %d: the run went on and was killed", TrialsFile, len(trials), RunFile, known)})
	case len(trials) < known:
		run.Warnings = append(run.Warnings, result.Warning{Code: string(warning.TrialsMissing), Scope: "run", Text: fmt.Sprintf(
			"%s holds %d trials, %s was written after %d: the others are not shown, though the figures rest on them; the file was cut, edited or left behind",
			TrialsFile, len(trials), RunFile, known)})
	}
	return run, trials, nil
}

// runOf is what trials alone tell of a run. An ok trial's path was proven.
func runOf(trials []result.Trial) result.Run {
	run := result.Run{Schema: result.Schema, Status: result.RunInterrupted, Trials: result.Count(trials)}
	for _, t := range trials {
		if run.Started.IsZero() || t.Started.Before(run.Started) {
			run.Started = t.Started
		}
		i := slices.IndexFunc(run.Modes, func(m result.Mode) bool { return m.ID == t.Mode })
		if i < 0 {
			i = len(run.Modes)
			run.Modes = append(run.Modes, result.Mode{ID: t.Mode, Title: t.Mode, Status: result.ModeFailed})
		}
		m := &run.Modes[i]
		switch {
		case m.Status == result.ModeVoid:
		case t.Void:
			m.Status, m.Reason = result.ModeVoid, t.Reason
		case t.Status == result.TrialOK:
			m.Status, m.Reason = result.ModeMeasured, ""
		case m.Status == result.ModeFailed:
			m.Reason = t.Reason
		}
	}
	return run
}

func (d *Dir) readRun() (result.Run, error) {
	data, err := d.read(RunFile)
	if err != nil {
		return result.Run{}, fmt.Errorf("read the run %s: %w", d.path, err)
	}
	run, err := parseRun(data)
	if err != nil {
		return result.Run{}, d.runUnreadable(err)
	}
	return run, nil
}

func parseRun(data []byte) (result.Run, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return result.Run{}, err
	}
	if err := checkSchema(head.Schema, result.Schema); err != nil {
		return result.Run{}, err
	}
	var run result.Run
	err := json.Unmarshal(data, &run)
	return run, err
}

func (d *Dir) readTrials(parse parser, expected int) ([]result.Trial, fileEnd, error) {
	f, size, err := d.openPlain(TrialsFile)
	if err != nil {
		return nil, fileEnd{}, fmt.Errorf("read the trials of %s: %w", d.path, err)
	}
	defer f.Close()
	// No line is shorter than this, whatever run.json says.
	expected = max(0, min(expected, int(size/shortestLine)))
	trials, end, line, err := parseTrials(f, parse, expected)
	if err != nil {
		return nil, fileEnd{}, fmt.Errorf("read %s:%d: %w", filepath.Join(d.path, TrialsFile), line, unreadable(err))
	}
	return trials, end, nil
}
