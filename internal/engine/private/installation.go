package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/process"
	"tare/internal/study"
)

// Installation is a Docker Engine whose programs are on this machine.
type Installation struct {
	Name string // as in a study: packaged, current, a version in the cache, or a path
	// Dir is searched for its programs before the directories of searchPath; empty for an engine
	// that has no directory of its own.
	Dir string
	// Released is when this version was published, zero if that is not recorded beside it.
	Released time.Time
}

// Description is what the programs of an engine report about themselves.
type Description struct {
	Path             string // of dockerd
	Version          string
	Released         time.Time // see engine.ReleaseOf; zero if unknown
	Containerd, Runc string
	Runsc            string   // of gVisor, which may also be that of the cache; unknown if it does not tell
	Firewalls        []string // backends of its rules that it can use
	Rootless         bool     // it has RootlessKit, with which an ordinary user can run it
	Rootlesskit      string   // the version of RootlessKit; empty if that does not tell
}

// CacheVariable is the environment variable with the directory in which scripts/setup-engines has
// built a single engine, instead of the cache.
const CacheVariable = "TARE_ENGINE"

// releasedFile is written by scripts/setup-engines beside the programs' directory.
const releasedFile = "released"

// Packaged is the engine whose programs are found in PATH.
func Packaged() Installation { return Installation{Name: study.PackagedEngine} }

// Cached returns the engines that scripts/setup-engines has built, the newest release first. Each
// is named by its version.
func Cached() []Installation {
	if dir := os.Getenv(CacheVariable); dir != "" {
		if i, ok := cachedIn(dir); ok {
			return []Installation{i}
		}
		return nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	base = filepath.Join(base, "tare", "engines")
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil
	}
	var all []Installation
	for _, e := range entries {
		if i, ok := cachedIn(filepath.Join(base, e.Name())); ok {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b Installation) int { return b.Released.Compare(a.Released) })
	return all
}

// cachedIn returns the engine in a directory of the cache, if it is complete.
func cachedIn(dir string) (Installation, bool) {
	i := Installation{Name: filepath.Base(dir), Dir: filepath.Join(dir, "bin")}
	text, err := os.ReadFile(filepath.Join(dir, releasedFile))
	if err != nil || !executable(filepath.Join(i.Dir, "dockerd")) {
		return i, false
	}
	i.Released, err = time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	return i, err == nil
}

// Installations returns the engines of this machine that a study can name without a path: the
// packaged one, if there is one, and those in the cache.
func Installations() []Installation {
	all := Cached()
	if _, err := Packaged().lookup("dockerd"); err == nil {
		all = append([]Installation{Packaged()}, all...)
	}
	return all
}

// Find returns the engine that a study names: study.PackagedEngine or nothing, study.CurrentEngine
// for the newest in the cache, a version in the cache, or the absolute path of a dockerd or of the
// directory with the programs.
func Find(name string) (Installation, error) {
	switch {
	case name == "" || name == study.PackagedEngine:
		return Packaged(), nil
	case filepath.IsAbs(name):
		return at(name)
	}
	cached := Cached()
	for _, i := range cached {
		if i.Name == name || name == study.CurrentEngine {
			return i, nil
		}
	}
	const build = "build one with scripts/setup-engines of tare's source, or give the path of a dockerd"
	if len(cached) == 0 {
		return Installation{}, fmt.Errorf("find the Docker Engine %s: there is none in the cache; %s", name, build)
	}
	return Installation{}, fmt.Errorf("find the Docker Engine %s: the cache has %s; %s", name, namesOf(cached), build)
}

func namesOf(all []Installation) string {
	names := make([]string, 0, len(all))
	for _, i := range all {
		names = append(names, i.Name)
	}
	return strings.Join(names, ", ")
}

// at returns the engine at a path.
func at(path string) (Installation, error) {
	fail := func(why string) (Installation, error) {
		return Installation{}, fmt.Errorf("find the Docker Engine %s: %s; give the path of a dockerd, or of the directory with it", path, why)
	}
	s, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail("no such file")
	case err != nil:
		return fail(err.Error())
	case !s.IsDir() && filepath.Base(path) != "dockerd":
		return fail("it is not called dockerd")
	case !s.IsDir():
		path = filepath.Dir(path)
	}
	for _, dir := range []string{path, filepath.Join(path, "bin")} {
		if executable(filepath.Join(dir, "dockerd")) {
			i := Installation{Name: path, Dir: dir}
			if cached, ok := cachedIn(filepath.Dir(dir)); ok && cached.Dir == dir {
				i.Released = cached.Released
			}
			return i, nil
		}
	}
	return fail("it has no program dockerd that can be executed")
}

// executable reports whether a file is a program.
func executable(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.Mode().IsRegular() && s.Mode()&0o111 != 0
}

// searchPath returns the directories of an engine's programs: its own, the user's path and the
// administrator's.
func (i Installation) searchPath() string {
	return strings.Join(process.SearchPath(i.Dir), string(filepath.ListSeparator))
}

// lookup finds a program of the engine.
func (i Installation) lookup(program string) (string, error) {
	for _, dir := range filepath.SplitList(i.searchPath()) {
		if path := filepath.Join(dir, program); executable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("find %s in %s: %w", program, i.searchPath(), fs.ErrNotExist)
}
