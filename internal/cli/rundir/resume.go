package rundir

import (
	"errors"
	"fmt"
	"strings"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/warning"
	"tare/internal/wording"
)

// Reopen opens the directory of a run that is to go on. Trials of another experiment
// than that of its study, or of another build, are an error unless force is set.
func (r Reader) Reopen(path string, s study.Study, force bool) (*store.Dir, store.Resumption, error) {
	dir, err := store.OpenAppend(path)
	if err != nil {
		return nil, store.Resumption{}, err
	}
	done, err := dir.Resume(r.session(s))
	if err == nil && done.Apart != nil && !force && !done.Forced {
		err = Mixing(path, *done.Apart)
	}
	if err != nil {
		return nil, done, errors.Join(err, dir.Close())
	}
	done.Forced = done.Apart != nil // this was refused above, unless it is wanted
	return dir, done, nil
}

// session is what a run of the study by this program would record.
func (r Reader) session(s study.Study) result.Session {
	return result.Session{Run: result.Run{Tare: r.Build}, Settings: plan.Settings(s)}
}

// Mixing is the error about a run that cannot go on as what it was, with every reason.
func Mixing(path string, apart result.Apart) error {
	return fmt.Errorf("resume %s: %d of its trials are of another experiment: %s; restore what they were measured with, start a new run, or add --force to continue with these trials set apart",
		path, apart.Trials.Total(), causesText(apart.Causes))
}

// mostCauses is how many causes a message names.
const mostCauses = 8

func causesText(all []result.Cause) string {
	var why []string
	for _, c := range all[:min(mostCauses, len(all))] {
		why = append(why, c.Text(store.StudyFile))
	}
	if more := len(all) - len(why); more > 0 {
		why = append(why, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(why, "; ")
}

// ChangedStudy says how the study of a run differs from what it measured, empty if it
// does not or if that is unknown: the run recorded no settings, or its study cannot be
// read.
func (r Reader) ChangedStudy(dir *store.Dir) string {
	_, s, err := r.Hosts.Resumed(dir.Path(), false)
	if err != nil {
		return ""
	}
	return r.changedFrom(dir, s)
}

// changedFrom is changedStudy for the study of the run.
func (r Reader) changedFrom(dir *store.Dir, s study.Study) string {
	causes, err := dir.Changed(r.session(s))
	if err != nil {
		return ""
	}
	return causesText(causes)
}

// NoteMixed writes the warnings about trials that count in no cell, where no report has
// them.
func (r Reader) NoteMixed(run result.Run, path string) {
	for _, w := range run.Warnings {
		if w.Code == string(warning.OtherExperiment) || w.Code == string(warning.DuplicateTrials) {
			fmt.Fprintf(r.Hosts.Stderr, "tare: warning: %s: %s\n", wording.Clean(path), wording.Clean(w.Text))
		}
	}
}
