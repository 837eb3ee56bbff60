package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tare/internal/result"
)

// removedPrefix starts the name of a run's directory from when its removal begins. No list
// shows such a directory, because of the dot, and a later removal finishes it.
const removedPrefix = ".tare-removed-"

var (
	// ErrForeign means that another user owns a run.
	ErrForeign = errors.New("belongs to another user: only they can remove it")
	// ErrContents means that a run's directory contains what no run writes there.
	ErrContents = errors.New("contains something that tare did not write")
)

// Contents is what a run's directory consists of: the number of its files, and their size
// in bytes.
type Contents struct {
	Files int
	Bytes int64
}

// Remover removes runs below a directory. It follows no symbolic link and never leaves the
// directory, whoever changes it meanwhile.
type Remover struct {
	dir  string
	root *os.Root
}

// OpenRemover opens a directory with runs. Errors: it cannot be read.
func OpenRemover(dir string) (*Remover, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of runs %s: %w", dir, err)
	}
	return &Remover{dir: filepath.Clean(dir), root: root}, nil
}

// Close closes the directory.
func (r *Remover) Close() error { return r.root.Close() }

// Check returns the contents of a run that can be removed. Path is that of a [Summary].
// Errors: ErrNotRun; ErrForeign; ErrContents; [ErrInUse].
func (r *Remover) Check(path string) (Contents, error) {
	t, err := r.open(path)
	if err != nil {
		return Contents{}, fmt.Errorf("check the run %s: %w", path, err)
	}
	if err := t.close(); err != nil {
		return Contents{}, fmt.Errorf("check the run %s: %w", path, err)
	}
	if IsLocked(path) {
		return Contents{}, fmt.Errorf("check the run %s: %w", path, ErrInUse)
	}
	return t.contents, nil
}

// Remove removes a run and returns what it removed. It locks the run, lists it once more, because a run may
// have ended meanwhile, renames its directory, then removes it: one that is killed leaves a directory that
// [Remover.Unfinished] finds and Remove finishes. Errors: those of Check, before anything is changed; a
// failed removal, which is then unfinished.
func (r *Remover) Remove(path string) (Contents, error) {
	t, err := r.open(path)
	if err != nil {
		return Contents{}, fmt.Errorf("remove the run %s: %w", path, err)
	}
	removed, err := t.remove()
	if err = errors.Join(err, t.close()); err != nil {
		return removed, fmt.Errorf("remove the run %s: %w", path, err)
	}
	return removed, nil
}

// Unfinished finds the directories of runs whose removal has not ended, at the depths at
// which List finds runs. Errors: the directory cannot be read.
func (r *Remover) Unfinished() ([]string, error) {
	var out []string
	top := r.dir + string(filepath.Separator)
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == top:
			return err
		case err != nil:
			return fs.SkipDir
		case !e.IsDir():
			return nil
		case strings.HasPrefix(e.Name(), removedPrefix) && path != top:
			out = append(out, filepath.Clean(path))
			return fs.SkipDir
		case path != top && strings.HasPrefix(e.Name(), ".") || depth(top, path) == listDepth:
			return fs.SkipDir
		}
		if isRun(path) {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find unfinished removals in %s: %w", r.dir, err)
	}
	return out, nil
}

// target is a run's directory that is to be removed, open in its parent directory.
type target struct {
	parent   *os.Root
	name     string
	dir      *Dir
	contents Contents
}

func (t *target) close() error { return errors.Join(t.dir.Close(), t.parent.Close()) }

// open opens a run and checks that it can be removed, but for its lock.
func (r *Remover) open(path string) (*target, error) {
	rel, err := filepath.Rel(r.dir, path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return nil, fmt.Errorf("it is not below %s", r.dir)
	}
	parent, err := r.root.OpenRoot(filepath.Dir(rel))
	if err != nil {
		return nil, err
	}
	t := &target{parent: parent, name: filepath.Base(rel)}
	if err := t.openDir(path); err != nil {
		return nil, errors.Join(err, parent.Close())
	}
	if err := t.survey(); err != nil {
		return nil, errors.Join(err, t.close())
	}
	if t.dir.isRun() != nil && !t.unfinished() {
		return nil, errors.Join(ErrNotRun, t.close())
	}
	return t, nil
}

func (t *target) openDir(path string) error {
	named, err := t.parent.Lstat(t.name)
	if err != nil {
		return err
	}
	if !named.IsDir() {
		return ErrNotRun // also a link to one
	}
	caller := sudoOwner()
	if uid, known := userOf(named); known && uid != os.Geteuid() && (!caller.set || uid != caller.uid) {
		return ErrForeign
	}
	root, err := t.parent.OpenRoot(t.name)
	if err != nil {
		return err
	}
	if info, err := root.Stat("."); err != nil || !os.SameFile(info, named) {
		return errors.Join(ErrNotRun, err, root.Close())
	}
	t.dir = newDir(path, root)
	return nil
}

// temporary is the name of a file while it is written, see replace, with that of the file.
var temporary = regexp.MustCompile(`^\.(.+)\.[0-9a-f]{8}\.tmp$`)

// isWritten reports whether a run, or a report of one, writes a file of that name. Anything else is
// somebody's own, whatever directory it is in.
func isWritten(name string) bool {
	folder, base := path.Split(name)
	if m := temporary.FindStringSubmatch(base); m != nil {
		name = folder + m[1]
	}
	return slices.ContainsFunc([]string{
		StudyFile, SessionsFile, TrialsFile, RunFile, PageFile, TextFile, AnswerFile, FiguresDir + "/*.svg", path.Dir(result.StacksFile("", "")) + "/*.folded",
	}, func(pattern string) bool {
		written, err := path.Match(pattern, name)
		return written && err == nil
	})
}

// survey counts the files of a run. It accepts what a run writes: regular files of known
// names, in the directory and one level below.
func (t *target) survey() error {
	t.contents = Contents{}
	return t.count(".")
}

// unfinished reports whether a removal of the directory has begun.
func (t *target) unfinished() bool { return strings.HasPrefix(t.name, removedPrefix) }

func (t *target) count(folder string) error {
	entries, err := fs.ReadDir(t.dir.root.FS(), folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := path.Join(folder, e.Name())
		info, err := t.dir.root.Lstat(at)
		switch {
		case err != nil:
			return err
		case at == lockFile:
		case info.Mode().IsRegular() && isWritten(at):
			t.contents.Files++
			t.contents.Bytes += info.Size()
		case info.IsDir() && folder == ".":
			if err := t.count(at); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%w: %s", ErrContents, at)
		}
	}
	return nil
}

// remove locks, lists, renames and removes the directory.
func (t *target) remove() (Contents, error) {
	err := t.dir.acquire()
	if err == nil {
		err = t.survey()
	}
	if err == nil {
		err = t.mark()
	}
	if err != nil {
		return Contents{}, err
	}
	for range removeTries {
		if err = t.parent.RemoveAll(t.name); err == nil {
			return t.contents, nil
		}
	}
	return Contents{}, err
}

// removeTries is how often the directory is removed: a process that tries to lock the run
// meanwhile creates the lock file again, and one that has read the run writes its report.
const removeTries = 5

// mostKept is how many bytes of its name a directory keeps when its removal begins: a name
// has at most 255.
const mostKept = 200

// mark renames the directory, so that it is no run of a list any more.
func (t *target) mark() error {
	if t.unfinished() {
		return nil
	}
	marked := fmt.Sprintf("%s%08x-%s", removedPrefix, rand.Uint32(), t.name[:min(len(t.name), mostKept)])
	if err := t.parent.Rename(t.name, marked); err != nil {
		return err
	}
	// Another process may have exchanged the directory since it was opened.
	opened, err := t.dir.root.Stat(".")
	if err != nil {
		return err
	}
	named, err := t.parent.Lstat(marked)
	if err != nil {
		return err
	}
	if !os.SameFile(opened, named) {
		return errors.Join(errors.New("it was replaced meanwhile"), t.parent.Rename(marked, t.name))
	}
	t.name = marked
	return nil
}
