package compare

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/cli/command"
	"tare/internal/judge"
	"tare/internal/store"
)

// maxNumberFiles is how many files of numbers one command reads.
const maxNumberFiles = 10_000

// sources are the files of numbers that arguments name; a folder stands for the files in it and in its folders.
func (a commands) sources(args []string) ([]judge.Source, error) {
	var out []judge.Source
	for i, name := range args {
		if slices.Contains(args[:i], name) {
			return nil, fmt.Errorf("judge %s: the file is named twice", name)
		}
		if name == "-" {
			out = append(out, judge.Source{Name: "stdin", R: a.Stdin})
			continue
		}
		files := []string{name}
		f, err := command.OpenInput(name) // held open, because what is not a file has one reader only
		if err != nil {
			return nil, fmt.Errorf("judge: %w", err)
		}
		if info, err := f.Stat(); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			if err = f.Close(); err == nil && info.IsDir() {
				files, err = numberFiles(name)
			}
			if err != nil {
				return nil, fmt.Errorf("judge: %w", err)
			}
			f = nil
		}
		for _, file := range files {
			out = append(out, judge.Source{Name: file, R: &lateFile{name: file, f: f}})
		}
		if len(out) > maxNumberFiles {
			return nil, fmt.Errorf("judge %s: more than %d files; judge a part of them at a time", name, maxNumberFiles)
		}
	}
	return out, nil
}

// numberFiles are the files of a folder and its folders, in the order of their names, numbers by their value. Files
// that begin with a dot are left out.
func numberFiles(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, store.TrialsFile)); err == nil {
		return nil, fmt.Errorf("%s is the directory of a run; use: tare export %s | tare judge -", dir, command.Quote(dir))
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(e.Name(), ".") && path != dir && e.IsDir():
			return fs.SkipDir
		case strings.HasPrefix(e.Name(), ".") || !e.Type().IsRegular():
			return nil
		case len(files) == maxNumberFiles:
			return fmt.Errorf("%s has more than %d files; judge a part of them at a time", dir, maxNumberFiles)
		}
		files = append(files, path)
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there are no files in %s", dir)
	}
	slices.SortStableFunc(files, byNumber)
	return files, err
}

// byNumber orders names so that run-10 is after run-9.
func byNumber(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			p, q := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if len(p) != len(q) {
				return len(p) - len(q)
			}
			if c := strings.Compare(p, q); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits is how many digits a text begins with.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}

// lateFile opens a file when it is first read and closes it at its end, so that many of them need one descriptor.
type lateFile struct {
	name string
	f    *os.File
	err  error
}

func (l *lateFile) Read(b []byte) (int, error) {
	if l.f == nil && l.err == nil {
		l.f, l.err = command.OpenInput(l.name)
	}
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.f.Read(b)
	if err != nil {
		l.err = err
		if closed := l.f.Close(); closed != nil && err == io.EOF {
			l.err = closed
		}
	}
	return n, err
}
