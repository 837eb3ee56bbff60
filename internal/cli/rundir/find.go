package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/cli/command"
	"tare/internal/store"
	"tare/internal/wording"
)

// Default is where runs go and are looked for.
func Default() string {
	return cmp.Or(os.Getenv("TARE_RUNS"), "tare-runs")
}

// Under is the directory of runs that the only argument of a command names, if there is one.
func Under(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return Default()
}

// NoneYet is the error of a command that could not list the runs of [Under]: none, and a line on stderr, if no directory was named
// and there is none.
func NoneYet(s command.Streams, args []string, err error) error {
	if errors.Is(err, fs.ErrNotExist) && len(args) == 0 {
		fmt.Fprintf(s.Stderr, "no runs yet: there is no directory %s\n", Default())
		return nil
	}
	return command.NotReadable(err)
}

// Create makes the directory of a new run, named by the time and the study
// unless out says how.
func Create(out, name string) (*store.Dir, error) {
	if out != "" {
		return store.Create(out)
	}
	base := filepath.Join(Default(), time.Now().Format("20060102-150405")+"-"+cmp.Or(name, "study"))
	dir, err := store.Create(base)
	// Two runs can start within a second.
	for n := 2; errors.Is(err, store.ErrExists); n++ {
		dir, err = store.Create(fmt.Sprintf("%s-%d", base, n))
	}
	return dir, err
}

// Find opens a run by its directory or its id.
func Find(name string) (*store.Dir, error) {
	if _, err := os.Stat(name); err == nil || strings.ContainsRune(name, filepath.Separator) || !errors.Is(err, fs.ErrNotExist) {
		return store.Open(name)
	}
	runs, err := store.List(Default())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	i := slices.IndexFunc(runs, func(s store.Summary) bool { return s.ID == name || filepath.Base(s.Path) == name })
	if i < 0 {
		return nil, fmt.Errorf("find run %s: there is no such directory and no run with that id in %s; tare ls lists runs", name, Default())
	}
	return store.Open(runs[i].Path)
}

// Names lists the runs below the directory of runs, by id and by directory.
func Names() []string {
	runs, err := store.List(Default())
	if err != nil {
		return nil // nothing to offer
	}
	var out []string
	for _, r := range runs {
		if r.ID != "" {
			out = append(out, r.ID)
		}
		out = append(out, filepath.Base(r.Path))
	}
	return out
}

// About says what a run measured: the title of its study, its modes and workloads.
func About(r store.Summary) string {
	title, _ := Titles(r.Path)
	modes := strings.Join(r.Modes, ", ")
	if modes != "" && len(r.Workloads) > 0 {
		modes += "; " + strings.Join(r.Workloads, ", ")
	}
	switch {
	case title == "":
		title = modes
	case modes != "":
		title += ": " + modes
	}
	return wording.Cut(wording.Clean(title), 120)
}

// WithAnswers prints the lines of a table, each with what is told of its run below it.
func WithAnswers(out io.Writer, lines string, runs []store.Summary, told func(store.Summary) []string) {
	i := 0
	for line := range strings.Lines(lines) {
		fmt.Fprint(out, line)
		for _, text := range told(runs[i]) {
			if text != "" {
				fmt.Fprintln(out, "    "+text)
			}
		}
		i++
	}
}

// mostAnswer is how many columns the answer of a run takes in a list.
const mostAnswer = 300

// AnswerOf is the answer of a run for a list, empty if it is unknown.
func AnswerOf(r store.Summary) string { return wording.Cut(wording.Clean(r.Answer), mostAnswer) }
