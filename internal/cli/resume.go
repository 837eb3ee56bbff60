package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"tare/internal/hosts"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/warning"
	"tare/internal/wording"
)

// resumed reads the study of a run that is to go on, and returns the program with
// the drivers for its engines.
func (a App) resumed(path string, allowSwarm bool) (App, study.Study, error) {
	name := filepath.Join(path, store.StudyFile)
	src, err := store.ReadStudy(path)
	if err != nil {
		return a, study.Study{}, usage(fmt.Errorf("resume %s: %w", path, err))
	}
	a = a.on(studyfile.TargetOf(src), hosts.Options{AllowSwarm: allowSwarm})
	s, err := studyfile.Decode(name, src, a.Catalog())
	if err == nil {
		s, err = study.Resolve(s, a.Catalog())
	}
	if err == nil && s.Seed == 0 {
		err = fmt.Errorf("%s:1: the study of a run requires a seed", name)
	}
	if err != nil {
		return a, s, usage(err)
	}
	return a, s, nil
}

// reopen opens the directory of a run that is to go on. Trials of another experiment
// than that of its study, or of another build, are an error unless force is set.
func (a App) reopen(path string, s study.Study, force bool) (*store.Dir, store.Resumption, error) {
	dir, err := store.OpenAppend(path)
	if err != nil {
		return nil, store.Resumption{}, err
	}
	done, err := dir.Resume(a.session(s))
	if err == nil && done.Apart != nil && !force && !done.Forced {
		err = mixing(path, *done.Apart)
	}
	if err != nil {
		return nil, done, errors.Join(err, dir.Close())
	}
	done.Forced = done.Apart != nil // this was refused above, unless it is wanted
	return dir, done, nil
}

// session is what a run of the study by this program would record.
func (a App) session(s study.Study) result.Session {
	return result.Session{Run: result.Run{Tare: a.Build}, Settings: plan.Settings(s)}
}

// mixing is the error about a run that cannot go on as what it was, with every reason.
func mixing(path string, apart result.Apart) error {
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

// changedStudy says how the study of a run differs from what it measured, empty if it
// does not or if that is unknown: the run recorded no settings, or its study cannot be
// read.
func (a App) changedStudy(dir *store.Dir) string {
	_, s, err := a.resumed(dir.Path(), false)
	if err != nil {
		return ""
	}
	return a.changedFrom(dir, s)
}

// changedFrom is changedStudy for the study of the run.
func (a App) changedFrom(dir *store.Dir, s study.Study) string {
	causes, err := dir.Changed(a.session(s))
	if err != nil {
		return ""
	}
	return causesText(causes)
}

// noteMixed writes the warnings about trials that count in no cell, where no report has
// them.
func (a App) noteMixed(run result.Run, path string) {
	for _, w := range run.Warnings {
		if w.Code == string(warning.OtherExperiment) || w.Code == string(warning.DuplicateTrials) {
			fmt.Fprintf(a.Stderr, "tare: warning: %s: %s\n", wording.Clean(path), wording.Clean(w.Text))
		}
	}
}
