package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tare/internal/result"
)

// Record is a run in a history: its summary, and of the run what later runs are compared
// with. Run has the hosts and modes with their facts, and the cells that have a ratio,
// without their own values, p and bands. It has no topologies, proofs, titles, warnings,
// distributions or other results. If there is a Problem, Run is empty.
type Record struct {
	Summary
	Run result.Run
}

// The limits of what several runs are read at once within; a run that exceeds them is
// read alone.
const (
	smallFile   = 1 << 20
	smallMemory = 8 << 20
)

// readRecord reads what a history needs of a run. Errors mean that there is no run.
func readRecord(path string) (Record, error) {
	s, run, err := readListed(path, true, parseRun)
	if err != nil || s.Problem != "" {
		return Record{Summary: s}, err
	}
	return Record{Summary: s, Run: comparable(run)}, nil
}

// readListed reads the summary of a run, and what parse takes of run.json. It returns errTooLarge if alone
// is false and the run has to be read alone, because its files are large or its trials
// must be read; other errors mean that there is no run.
func readListed(path string, alone bool, parse func([]byte) (result.Run, error)) (Summary, result.Run, error) {
	d, err := Open(path)
	if err != nil {
		return Summary{}, result.Run{}, err
	}
	defer d.Close()
	most, memory := int64(smallFile), int64(smallMemory)
	if alone {
		most, memory = maxRunFile, maxMemory
	}
	run, err := d.readRunWithin(most, memory, parse)
	sessions, unread := d.readSessionsWithin(most, memory)
	last := lastOf(sessions)
	if unread == nil && err == nil && superseded(run, last) {
		err = fs.ErrNotExist // an earlier session wrote it, and the last one was killed
	}
	if !alone && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errTooLarge) || errors.Is(unread, errTooLarge)) {
		return Summary{}, result.Run{}, errTooLarge
	}
	evaluated := err == nil
	// Read the trials, which may be many megabytes, only if run.json does not exist.
	if errors.Is(err, fs.ErrNotExist) {
		run, _, err = d.load(func(result.Run) parser { return parseSummary })
	}
	if err != nil {
		return Summary{Path: d.Path(), Problem: err.Error()}, result.Run{}, nil
	}
	study, err := d.read(StudyFile, maxStudyFile)
	if err != nil {
		study = nil
	}
	s := summarize(d.Path(), run)
	s.Study = studyName(study)
	if evaluated || d.answeredLast() {
		s.Answer = d.answer()
	}
	if last != nil {
		s.Workloads = slices.Sorted(maps.Keys(last.Settings.Workloads))
	}
	switch {
	case unread != nil:
	case last != nil:
		s.Hash = last.Settings.Hash()
	default:
		s.Hash = studyHash(study)
	}
	return s, run, nil
}

// answeredLast reports whether the answer was written after the last trial: of a run that was killed, by tare report.
func (d *Dir) answeredLast() bool {
	answer, err1 := d.root.Lstat(AnswerFile)
	trials, err2 := d.root.Lstat(TrialsFile)
	return err1 == nil && err2 == nil && !answer.ModTime().Before(trials.ModTime())
}

// maxAnswer is far more than a sentence takes, in bytes.
const maxAnswer = 8 << 10

// answer is the sentence of the run's report on one line, empty if there is none.
func (d *Dir) answer() string {
	text, err := d.read(AnswerFile, maxAnswer)
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

func summarize(path string, run result.Run) Summary {
	s := Summary{Path: path, ID: run.ID, Started: run.Started.UTC(), Status: run.Status, Profile: run.Profile, Trials: run.Trials.Total(), Valid: run.Trials.OK}
	for _, m := range run.Modes {
		s.Modes = append(s.Modes, m.ID)
	}
	return s
}

// comparable is what a [Record] has of a run. Its times are UTC.
func comparable(run result.Run) result.Run {
	out := result.Run{
		Schema: run.Schema, ID: run.ID, Started: run.Started.UTC(), Finished: run.Finished.UTC(), Status: run.Status, Tare: run.Tare,
		Seed: run.Seed, Profile: run.Profile, Noisy: run.Noisy, NoisyWorkloads: run.NoisyWorkloads, Hosts: run.Hosts, Trials: run.Trials,
	}
	for _, m := range run.Modes {
		out.Modes = append(out.Modes, result.Mode{ID: m.ID, Mode: m.Mode, Status: m.Status, Reason: m.Reason, Baseline: m.Baseline, Control: m.Control, Facts: m.Facts})
	}
	for _, c := range run.Cells {
		if c.Ratio == nil {
			continue
		}
		j := c.Judgement
		j.P, j.FlipP, j.Detectable, j.BlocksNeeded = nil, nil, nil, nil
		out.Cells = append(out.Cells, result.Cell{
			Mode: c.Mode, Workload: c.Workload, Metric: c.Metric, Unit: c.Unit, Better: c.Better, N: c.N, Baseline: c.Baseline, AtLeast: c.AtLeast, Judgement: j,
		})
	}
	out.Cells = slices.Clip(out.Cells)
	return out
}

// studyName is the name in a study.yaml that a run wrote, empty if there is none. Such a
// file has one key on each line that is not indented.
func studyName(study []byte) string {
	for line := range bytes.Lines(study) {
		text, named := strings.CutPrefix(string(line), "name:")
		if !named {
			continue
		}
		text = strings.TrimSpace(text)
		if plain, err := strconv.Unquote(text); err == nil {
			text = plain
		}
		return strings.Trim(text, "'")
	}
	return ""
}

// studyHash stands in for the hash of the settings of a run that did not record them: the
// first digits of the SHA-256 of its study.yaml without the seed, empty without the file.
func studyHash(study []byte) string {
	if len(study) == 0 {
		return ""
	}
	sum := sha256.New()
	for line := range bytes.Lines(study) {
		if !bytes.HasPrefix(line, []byte("seed:")) {
			sum.Write(line)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:hashDigits]
}

// hashDigits is the length of a hash of a study, in hexadecimal digits.
const hashDigits = 16

// newestFirst orders runs as List returns them.
func newestFirst(a, b *Summary) int {
	return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.Path, b.Path))
}
