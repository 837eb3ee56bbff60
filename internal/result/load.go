package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
)

// Load reads a run: run.json and its trials, in the order in which they ran.
//
// A run whose controller was killed has no run.json. It comes back as interrupted,
// with what its trials tell: when the first one started, how many there are, and
// the modes, without titles and baselines. A last line that was cut in the middle
// is dropped. If trials were added after run.json was written, the run is
// interrupted too, and a warning with code stale_run says that its cells lack
// them. Without trials.ndjson there are no trials.
//
// Errors name the file and the line: broken JSON, an unknown schema (a later
// major version of tare wrote it), a line above 16 MiB.
func (d *Dir) Load() (Run, []Trial, error) {
	trials, _, err := d.readTrials()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Run{}, nil, err
	}
	run, err := d.readRun()
	if errors.Is(err, fs.ErrNotExist) {
		return runOf(trials), trials, nil
	}
	if err != nil {
		return Run{}, nil, err
	}
	if known := run.Trials.total(); len(trials) > known {
		run.Status = RunInterrupted
		run.Warnings = append(run.Warnings, Warning{"stale_run", "run", fmt.Sprintf(
			"%s holds %d trials, %s was written after %d: the run went on and was killed", TrialsFile, len(trials), RunFile, known)})
	}
	return run, trials, nil
}

func (t Tally) total() int { return t.OK + t.Invalid + t.Failed }

// runOf is what trials alone tell of a run. An ok trial's path was proven.
func runOf(trials []Trial) Run {
	run := Run{Schema: Schema, Status: RunInterrupted, Trials: Count(trials)}
	for _, t := range trials {
		if run.Started.IsZero() || t.Started.Before(run.Started) {
			run.Started = t.Started
		}
		i := slices.IndexFunc(run.Modes, func(m Mode) bool { return m.ID == t.Mode })
		if i < 0 {
			i = len(run.Modes)
			run.Modes = append(run.Modes, Mode{ID: t.Mode, Title: t.Mode, Status: ModeFailed})
		}
		m := &run.Modes[i]
		switch {
		case m.Status == ModeVoid:
		case t.Void:
			m.Status, m.Reason = ModeVoid, t.Reason
		case t.Status == TrialOK:
			m.Status, m.Reason = ModeMeasured, ""
		case m.Status == ModeFailed:
			m.Reason = t.Reason
		}
	}
	return run
}

func (d *Dir) readRun() (Run, error) {
	data, err := d.root.ReadFile(RunFile)
	if err != nil {
		return Run{}, fmt.Errorf("read run: %w", err)
	}
	run, err := parseRun(data)
	if err != nil {
		return Run{}, fmt.Errorf("read %s: %w", filepath.Join(d.path, RunFile), err)
	}
	return run, nil
}

func parseRun(data []byte) (Run, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Run{}, err
	}
	if err := checkSchema(head.Schema, Schema); err != nil {
		return Run{}, err
	}
	var run Run
	err := json.Unmarshal(data, &run)
	return run, err
}

func (d *Dir) readTrials() ([]Trial, fileEnd, error) {
	f, err := d.root.Open(TrialsFile)
	if err != nil {
		return nil, fileEnd{}, fmt.Errorf("read trials: %w", err)
	}
	defer f.Close()
	trials, end, line, err := parseTrials(f)
	if err != nil {
		return nil, fileEnd{}, fmt.Errorf("read %s:%d: %w", filepath.Join(d.path, TrialsFile), line, err)
	}
	return trials, end, nil
}

// fileEnd says where the last whole line ends, and whether its newline is missing.
type fileEnd struct {
	offset    int64
	noNewline bool
}

// parseTrials reads lines of trials. An error belongs to the line it names,
// counted from 1. Only a last line that was cut is forgiven, and a cut line shows:
// its newline is missing, and no proper part of a JSON object is JSON. Blank lines
// are passed over.
func parseTrials(r io.Reader) (trials []Trial, end fileEnd, line int, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var offset int64
	for line = 1; ; line++ {
		text, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, end, line, err
		}
		last := errors.Is(err, io.EOF) // and so without a newline
		if last && !json.Valid(text) {
			return trials, end, line, nil
		}
		offset += int64(len(text))
		if len(bytes.TrimSpace(text)) > 0 {
			t, err := parseTrial(text)
			if err != nil {
				return nil, end, line, err
			}
			trials = append(trials, t)
		}
		end = fileEnd{offset, last}
		if last {
			return trials, end, line, nil
		}
	}
}

// readLine reads a line with its newline. It gives io.EOF with what follows the
// last newline, and an error of its own for a line that is too long.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("line of more than %d bytes", maxLine)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
