package judge

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// NamedMode gives a mode to the files that match a pattern.
type NamedMode struct{ Mode, Pattern string }

// ParseNamedMode reads NAME=PATTERN. The pattern is that of a shell, for the name of a file or of its
// folder, or for both with a slash between them.
func ParseNamedMode(text string) (NamedMode, error) {
	mode, pattern, ok := strings.Cut(text, "=")
	if _, err := path.Match(pattern, ""); !ok || mode == "" || pattern == "" || err != nil {
		return NamedMode{}, fmt.Errorf("is %q; write NAME=PATTERN, such as host=host-*.json", text)
	}
	return NamedMode{mode, pattern}, nil
}

// matches reports whether the pattern is that of a file.
func (n NamedMode) matches(file string) bool {
	parts := strings.Split(filepath.ToSlash(filepath.Clean(file)), "/")
	names := []string{parts[len(parts)-1], strings.Join(parts, "/")}
	if len(parts) > 1 {
		names = append(names, parts[len(parts)-2], strings.Join(parts[len(parts)-2:], "/"))
	}
	return slices.ContainsFunc(names, func(name string) bool {
		ok, _ := path.Match(n.Pattern, name) //nolint:errcheck // the pattern was checked
		return ok
	})
}

// fileNames are the modes of files that have no names of modes in them.
type fileNames struct {
	stems  map[string]string // of a file each
	trials map[string]string // of files with one trial each
	given  map[string]bool   // by a pattern of the user
	modes  int               // how many different ones there are among trials
}

// nameFiles names the modes of files: by the patterns that the user gave; else by the name of the file,
// or of its folder if two folders have a file of the same name. Of files with one trial each, a number
// at the end is that of the trial if the numbers of a mode count from 0 or 1, or are times.
func nameFiles(sources []Source, patterns []NamedMode) fileNames {
	f := fileNames{map[string]string{}, map[string]string{}, map[string]bool{}, 0}
	folders := map[string]string{} // of a file's name
	twice := false
	for _, s := range sources {
		stem, folder := fileStem(s.Name), filepath.Dir(s.Name)
		was, there := folders[stem]
		twice = twice || there && was != folder
		folders[stem] = folder
	}
	type numbered struct {
		file string
		n    int
	}
	series := map[string][]numbered{}
	for _, s := range sources {
		f.stems[s.Name] = fileStem(s.Name)
		if folder := filepath.Base(filepath.Dir(s.Name)); twice && folder != "." && folder != string(filepath.Separator) {
			f.stems[s.Name] = folder
		}
		f.trials[s.Name] = f.stems[s.Name]
		if stem, n, ok := trialNumber(fileStem(s.Name)); ok && !twice {
			if stem == "" {
				stem = filepath.Base(filepath.Dir(s.Name))
			}
			series[stem] = append(series[stem], numbered{s.Name, n})
		}
	}
	for stem, files := range series {
		slices.SortFunc(files, func(a, b numbered) int { return cmp.Compare(a.n, b.n) })
		count, time := len(files) > 1, true
		for i, file := range files {
			count = count && file.n == files[0].n+i && files[0].n <= 1
			time = time && file.n >= 1e7
		}
		for _, file := range files {
			if count || time {
				f.trials[file.file] = stem
			}
		}
	}
	modes := map[string]bool{}
	for _, s := range sources {
		if i := slices.IndexFunc(patterns, func(n NamedMode) bool { return n.matches(s.Name) }); i >= 0 {
			f.stems[s.Name], f.trials[s.Name], f.given[s.Name] = patterns[i].Mode, patterns[i].Mode, true
		}
		modes[f.trials[s.Name]] = true
	}
	f.modes = len(modes)
	return f
}

// trialNumber splits the number of a trial from the end of a name: host-3, host_run3, host (3), 3.
func trialNumber(stem string) (rest string, n int, ok bool) {
	found := regexp.MustCompile(`^(.*?)(?:(?:^|[-_. ])(?:run|trial|rep|iter|test)?[-_. ]?)\(?(\d{1,17})\)?$`).FindStringSubmatch(stem)
	if found == nil {
		return "", 0, false
	}
	n, err := strconv.Atoi(found[2])
	return strings.TrimRight(found[1], "-_. "), n, err == nil
}

// fileStem returns the name of a file without folders and extension.
func fileStem(name string) string {
	base := filepath.Base(name)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
