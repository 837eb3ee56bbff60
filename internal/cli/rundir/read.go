// Package rundir is what commands do alike with the directories of runs: find them by what a user names, read and judge them, and
// write and print their reports.
package rundir

import (
	"fmt"
	"path/filepath"
	"slices"

	"tare/internal/analysis"
	"tare/internal/analysis/changes"
	"tare/internal/analysis/verdict"
	"tare/internal/cli/command"
	"tare/internal/cli/selection"
	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/report"
	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/warning"
)

// Reader reads runs, and judges those that their controller could not.
type Reader struct {
	Hosts selection.Hosts // what knows the targets of their studies
	Build result.Build
}

// Input reads what the report of a run needs.
func (r Reader) Input(dir *store.Dir) (report.Input, error) {
	run, trials, err := dir.LoadPartial()
	if err != nil {
		return report.Input{}, err
	}
	run = r.Judge(run, trials, dir.Path())
	if changed := r.ChangedStudy(dir); changed != "" {
		run.Warnings = append(slices.Clip(run.Warnings), result.Warning{Code: string(warning.StudyChanged), Scope: "run",
			Text: fmt.Sprintf("%s was changed after the run, whose results are of what was measured: %s", store.StudyFile, changed)})
	}
	in := report.Input{Run: run, Trials: trials}
	in.Title, in.Description = Titles(dir.Path())
	if src, err := store.ReadStudy(dir.Path()); err == nil {
		in = Translated(in, studyfile.NetworkOf(src))
	}
	in.Page, in.Full = filepath.Join(dir.Path(), store.PageFile), "tare report --full "+command.Quote(dir.Path())
	in.ClaimsCommand = "tare report --claims " + command.Quote(dir.Path())
	in.Command = fmt.Sprintf("tare run %s --out NEW_DIRECTORY", command.Quote(filepath.Join(dir.Path(), store.StudyFile)))
	return in, nil
}

// Judge computes the cells of a run that has trials and no cells, because its controller was killed. Its trials are complete, and
// its study lists the comparisons. Without a readable study the run stays without cells.
func (r Reader) Judge(run result.Run, trials []result.Trial, dir string) result.Run {
	if len(run.Cells) > 0 || len(trials) == 0 {
		return run
	}
	at, s, err := r.Hosts.Resumed(dir, false)
	if err != nil {
		return run
	}
	run.Profile, run.Seed = s.Profile, s.Seed
	run.Modes = modesOf(at.Target.Drivers, s, run.Modes)
	return analysis.Evaluate(run, analysis.Evidence{Study: plan.Decided(s, run), Trials: trials, Lab: !s.Target().Given(), Elsewhere: !driver.AllLocal(at.Target.Hosts)})
}

// modesOf completes the modes of a run that has only trials, from the study and the drivers,
// in the order of the study.
func modesOf(drivers driver.Registry, s study.Study, told []result.Mode) []result.Mode {
	names := s.ModeNames()
	out := slices.Clone(told)
	slices.SortStableFunc(out, func(x, y result.Mode) int { return slices.Index(names, x.ID) - slices.Index(names, y.ID) })
	for i, m := range out {
		if m.Title != m.ID {
			continue // recorded by the run itself
		}
		asked, _ := s.ModeNamed(m.ID)
		if _, known, err := drivers.For(asked.Mode); err == nil {
			out[i] = analysis.ModeOf(s, m.ID, known.Title, known.Baseline)
			out[i].Status, out[i].Reason, out[i].Like = m.Status, m.Reason, known.Like
		}
	}
	return out
}

// Titles reads the title and description of the study. They are empty without a study, or for
// one of a later version.
func Titles(dir string) (title, description string) {
	src, err := store.ReadStudy(dir)
	if err != nil {
		return "", ""
	}
	return studyfile.Titles(src)
}

// Load reads a run as its report needs it, and writes nothing.
func (r Reader) Load(path string) (report.Input, error) {
	dir, err := store.Open(path)
	if err != nil {
		return report.Input{}, err
	}
	defer dir.Close()
	return r.Input(dir)
}

// Taken is a run with its study.
type Taken struct {
	changes.RunTrials
	Study  study.Study
	Memory int64 // that its trials take, in bytes
}

// ComparedMemory is how many bytes the trials of two runs may take together.
const ComparedMemory = 180 << 20

// Take reads a run, whose trials may take so many bytes, and its study.
func (r Reader) Take(name string, memory int64) (Taken, error) {
	dir, err := Find(name)
	if err != nil {
		return Taken{}, command.NotReadable(err)
	}
	defer dir.Close()
	dir.LimitMemory(memory)
	run, trials, err := dir.LoadPartial()
	if err != nil {
		return Taken{}, command.NotReadable(err)
	}
	_, s, err := r.Hosts.Resumed(dir.Path(), false)
	if err != nil {
		return Taken{}, command.NotReadable(fmt.Errorf("run %s: cannot read its study: %w", name, err))
	}
	if changed := r.changedFrom(dir, s); changed != "" {
		return Taken{}, command.Usage(fmt.Errorf("run %s: its %s was changed after the run: %s; restore it", name, store.StudyFile, changed))
	}
	r.NoteMixed(run, dir.Path())
	run = r.Judge(run, trials, dir.Path())
	kept := store.DropJudged(run, trials)
	return Taken{changes.RunTrials{Run: run, Trials: trials, Serial: verdict.SerialWorkloads(s)}, s, kept}, nil
}
