package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	jsonv1 "github.com/go-json-experiment/json/v1"

	"tare/internal/result"
	"tare/internal/unit"
	"tare/internal/warning"
)

// Load reads a run: run.json and its trials, in the order in which they ran. The run of a
// controller that was killed is the one of its last session, see [SessionsFile]: Load
// returns it as interrupted, with what was known after its last block. Without a record
// of sessions it has what the trials show: when the first one started, their number, and
// the modes, without titles and baselines. Trials of another experiment than that of the
// last session, and repeated ones, are left out; Apart, Duplicates and a warning count
// them. A last line that was cut in the middle is dropped. If trials were added after
// run.json was written, the run is interrupted too, and a warning with code stale_run
// says that its cells lack them; if there are fewer, the warning is trials_missing.
// Without trials.ndjson there are no trials. Errors name the file and the line: broken
// JSON, an unknown schema (a later major version of tare wrote it), a line above 8 MiB,
// a file above its limit, values that take more than 144 MiB of memory,
// something other than a regular file.
func (d *Dir) Load() (result.Run, []result.Trial, error) {
	return d.load(func(result.Run) parser { return parseTrial })
}

// LoadPartial is Load without the fields that neither evaluation nor reports need, so
// that a run with very many trials takes little time and memory. It omits the counters of
// paths, the results of single pairs, and everything about the endpoints except their
// connection settings. For a run that has cells, and is therefore evaluated, run.json
// already contains the totals over its trials: LoadPartial then also omits the endpoints,
// tools, notes, losses, stacks, limits and distributions, and reads only the machine
// metrics that begin with cpu_, for a run with scenarios and for trials in which a mode
// has processes of its own.
func (d *Dir) LoadPartial() (result.Run, []result.Trial, error) {
	return d.load(func(run result.Run) parser { return partialFor(run).parse })
}

func (d *Dir) load(of func(result.Run) parser) (result.Run, []result.Trial, error) {
	run, broken := d.readRun()
	sessions, err := d.readSessions()
	if err != nil {
		return result.Run{}, nil, err
	}
	last := lastOf(sessions)
	absent := errors.Is(broken, fs.ErrNotExist)
	if broken == nil && superseded(run, last) {
		absent = true
	}
	if broken != nil || absent {
		run = result.Run{}
	}
	all, _, err := d.readTrials(of(run), d.memory)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return result.Run{}, nil, err // the error about the trials, which everything else is computed from
	}
	lines := separate(all, last, sessions)
	if err := checkPairs(run, lines.own); err != nil {
		return result.Run{}, nil, fmt.Errorf("read %s: %w", filepath.Join(d.Path(), TrialsFile), err)
	}
	switch {
	case absent:
		return lines.note(killed(last, lines.own)), lines.own, nil
	case broken != nil:
		return result.Run{}, nil, broken
	}
	run = noteCount(run, len(lines.own), lines)
	return run, lines.own, nil
}

// Resumption is what a run that is resumed has already.
type Resumption struct {
	Trials     []result.Trial // of the experiment that goes on
	Apart      *result.Apart  // trials of another one, nil if there are none
	Duplicates int            // lines that repeat a trial
	Warnings   []result.Warning
	Last       int           // the highest number of a trial
	Hosts      []result.Host // of the last session
	// Forced means that the last session was of the same experiment and already continued
	// beside the trials that are apart.
	Forced bool
}

// Resume reads the trials of a run for a session that is to continue it, and tells those
// of its experiment and build apart from all others. As LoadPartial of a run without
// cells, it leaves out what no evaluation needs. Errors: those of Load.
func (d *Dir) Resume(next result.Session) (Resumption, error) {
	sessions, err := d.readSessions()
	if err != nil {
		return Resumption{}, err
	}
	all, _, err := d.readTrials(partialFor(result.Run{}).parse, d.memory)
	if err != nil {
		return Resumption{}, err
	}
	lines := separate(all, &next, sessions)
	noted := lines.note(result.Run{})
	out := Resumption{Trials: lines.own, Apart: lines.apart, Duplicates: noted.Duplicates, Warnings: noted.Warnings, Last: lines.last}
	if last := lastOf(sessions); last != nil {
		out.Forced = last.Forced && last.Run.Tare == next.Run.Tare && last.Settings.Equal(next.Settings)
		out.Hosts = last.Run.Hosts
		for _, w := range last.Run.Warnings { // what an earlier session found holds for the run
			if w.Code == string(warning.MachineChanged) {
				out.Warnings = append(out.Warnings, w)
			}
		}
	}
	return out, nil
}

// Recorded reads back the trials of a session that is appending, those that it resumed
// included, in the order in which they ran: what [analysis.Evaluate] needs of each. There
// is no limit on the memory that they take; Append limits their number. Errors: those of
// Load.
func (d *Dir) Recorded(now result.Session) ([]result.Trial, error) {
	all, _, err := d.readTrials(partial{forJudging: true, machine: true, only: true}.parse, math.MaxInt64)
	return separate(all, &now, nil).own, err
}

// Changed lists how the settings of a session differ from those of the run's last one,
// for all its modes and workloads: the study was edited since. If another build recorded
// them, keys that only the new one has are left out, because they may be new to it. It
// returns none if no session was recorded. Errors: the record cannot be read.
func (d *Dir) Changed(next result.Session) ([]result.Cause, error) {
	sessions, err := d.readSessions()
	last := lastOf(sessions)
	if err != nil || last == nil || last.Settings.Equal(next.Settings) {
		return nil, err
	}
	return slices.DeleteFunc(last.Settings.AllCauses(next.Settings), func(c result.Cause) bool {
		return c.Key != "" && c.Then == "" && last.Run.Tare != next.Run.Tare
	}), nil
}

// lastOf is the last session, nil if there is none.
func lastOf(sessions []result.Session) *result.Session {
	if len(sessions) == 0 {
		return nil
	}
	return &sessions[len(sessions)-1]
}

// noteCount adds a warning if the run does not know as many trials as there are.
func noteCount(run result.Run, n int, lines separated) result.Run {
	known := run.Trials.Total()
	run = lines.note(run)
	switch {
	case n > known:
		run.Status = result.RunInterrupted
		run.Warnings = append(run.Warnings, warning.New(warning.StaleRun, "run",
			"%s contains %s, but %s was written after %d: the run continued and was killed", TrialsFile, unit.Count(n, "trial", "trials"), RunFile, known))
	case n < known:
		run.Warnings = append(run.Warnings, warning.New(warning.TrialsMissing, "run",
			"%s contains %s, but %s was written after %d: the missing trials are not shown, but are part of the results; the file was cut, edited or copied incompletely",
			TrialsFile, unit.Count(n, "trial", "trials"), RunFile, known))
	}
	return run
}

// killed is the run of a session without a run.json, or what its trials show if no
// session was recorded.
func killed(last *result.Session, trials []result.Trial) result.Run {
	shown := runOf(trials)
	if last == nil {
		return shown
	}
	run := last.Run
	run.Status, run.Trials, run.Cells = result.RunInterrupted, shown.Trials, nil
	if len(run.Modes) == 0 {
		run.Modes = shown.Modes
	}
	for i, m := range run.Modes {
		at := slices.IndexFunc(shown.Modes, func(s result.Mode) bool { return s.ID == m.ID })
		if at >= 0 && shown.Modes[at].Status == result.ModeVoid {
			run.Modes[i].Status, run.Modes[i].Reason = result.ModeVoid, shown.Modes[at].Reason
		}
	}
	return run
}

// LimitMemory sets how many bytes the trials may take that Load and LoadPartial read: at
// most 144 MiB, the limit unless it is called.
func (d *Dir) LimitMemory(most int64) { d.memory = min(most, maxMemory) }

// runOf is what trials alone show about a run. The path of an ok trial was proven.
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

func (d *Dir) readRun() (result.Run, error) { return d.readRunWithin(maxRunFile, maxMemory, parseRun) }

// readRunWithin reads run.json of at most that many bytes, and values that take at most
// that much memory.
func (d *Dir) readRunWithin(most, memory int64, parse func([]byte) (result.Run, error)) (result.Run, error) {
	data, err := d.read(RunFile, most)
	if err != nil {
		return result.Run{}, fmt.Errorf("read the run %s: %w", d.Path(), err)
	}
	if err := checkMemory(data, memory); err != nil {
		return result.Run{}, d.runUnreadable(err)
	}
	run, err := parse(data)
	if err != nil {
		return result.Run{}, d.runUnreadable(err)
	}
	return run, nil
}

// parseListed reads what a list shows of run.json.
func parseListed(data []byte) (result.Run, error) {
	var some struct {
		Schema  string           `json:"schema"`
		ID      string           `json:"id"`
		Started time.Time        `json:"started"`
		Status  result.RunStatus `json:"status"`
		Profile string           `json:"profile"`
		Trials  result.Tally     `json:"trials"`
		Modes   []struct {
			ID string `json:"id"`
		} `json:"modes"`
	}
	if err := jsonv1.Unmarshal(data, &some); err != nil || some.Schema != result.Schema {
		return parseRun(data) // which has the usual errors
	}
	run := result.Run{Schema: some.Schema, ID: some.ID, Started: some.Started, Status: some.Status, Profile: some.Profile, Trials: some.Trials}
	for _, m := range some.Modes {
		run.Modes = append(run.Modes, result.Mode{ID: m.ID})
	}
	return run, checkTally(run.Trials)
}

func parseRun(data []byte) (result.Run, error) {
	if err := checkMemory(data, maxMemory); err != nil {
		return result.Run{}, err
	}
	var run result.Run
	// The faster decoder first. The other one has the usual errors.
	if err := jsonv1.Unmarshal(data, &run); err == nil && run.Schema == result.Schema {
		return run, checkRun(run)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return result.Run{}, err
	}
	if err := checkSchema(head.Schema, result.Schema); err != nil {
		return result.Run{}, err
	}
	run = result.Run{}
	if err := json.Unmarshal(data, &run); err != nil {
		return result.Run{}, err
	}
	return run, checkRun(run)
}

// readTrials reads the trials, which may take most bytes of memory.
func (d *Dir) readTrials(parse parser, most int64) ([]result.Trial, fileEnd, error) {
	f, _, err := d.openPlain(TrialsFile, maxTrialsFile)
	if errors.Is(err, errTooLarge) {
		err = fmt.Errorf("%w; read it with the version of tare that wrote it, or remove whole lines from a copy of the run", err)
	}
	if err != nil {
		return nil, fileEnd{}, fmt.Errorf("read the trials of %s: %w", d.Path(), err)
	}
	defer f.Close()
	trials, end, line, err := parseTrials(f, parse, most)
	if err != nil {
		return nil, fileEnd{}, fmt.Errorf("read %s:%d: %w", filepath.Join(d.Path(), TrialsFile), line, unreadable(err))
	}
	return trials, end, nil
}
