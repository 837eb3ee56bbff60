package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"tare/internal/result"
)

// Append adds a trial to trials.ndjson, as one line that is on disk when Append
// returns. An empty Schema is filled in. Errors: a trial that could not be read
// back (no mode, workload or known status, a figure that is NaN or infinite, a
// line above 16 MiB), which leaves the file as it was; a failed write, after
// which every Append fails, because the line may be cut and nothing may follow it.
func (d *Dir) Append(t result.Trial) error {
	line, err := encodeTrial(t)
	if err == nil {
		err = d.appendLine(line)
	}
	if err != nil {
		return fmt.Errorf("append trial %d to %s: %w", t.Seq, filepath.Join(d.path, TrialsFile), err)
	}
	return nil
}

func (d *Dir) appendLine(line []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.trials == nil {
		return errors.New("not open for appending")
	}
	if d.broken != nil {
		return fmt.Errorf("an earlier trial failed: %w", d.broken)
	}
	if _, err := d.trials.Write(line); err != nil {
		d.broken = err
		return err
	}
	if err := d.trials.Sync(); err != nil {
		d.broken = err
		return err
	}
	return nil
}

// WriteStudy writes study.yaml.
func (d *Dir) WriteStudy(data []byte) error { return d.write(StudyFile, data) }

// WriteRun writes run.json as [EncodeRun] gives it. Errors: those of EncodeRun;
// a failed write, which leaves an earlier run.json as it was.
func (d *Dir) WriteRun(r result.Run) error {
	data, err := EncodeRun(r)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(d.path, RunFile), err)
	}
	return d.write(RunFile, data)
}

// WriteFile writes a file beside the run's own, such as report.html or
// figures/goodput.svg: at most one folder deep, which is made. A reader sees the
// old file or the new one, never a part. Errors: a name that leads elsewhere or
// is one of the run's own files; a failed write.
func (d *Dir) WriteFile(name string, data []byte) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("write %q in %s: %w", name, d.path, err)
	}
	return d.write(name, data)
}

// AppendFile adds to a file beside the run's own, which is made if it is not there, as
// WriteFile would make it. A run that is resumed goes on with what an earlier part of
// it wrote. Errors: those of WriteFile; a failed write may leave a part.
func (d *Dir) AppendFile(name string, data []byte) error {
	err := checkName(name)
	if err == nil {
		err = d.add(name, data)
	}
	if err != nil {
		return fmt.Errorf("append to %q in %s: %w", name, d.path, err)
	}
	return nil
}

func (d *Dir) add(name string, data []byte) error {
	folder, _ := path.Split(name)
	if folder != "" {
		if err := d.root.Mkdir(path.Clean(folder), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func checkName(name string) error {
	switch {
	// path.Clean: a name has one spelling, so that the comparison below holds.
	case !filepath.IsLocal(name) || name != path.Clean(name) || name == "." || strings.ContainsAny(name, "\\\x00"):
		return errors.New("not a plain name within the directory")
	case strings.Count(name, "/") > 1:
		return errors.New("more than one folder deep")
	case name == RunFile || name == TrialsFile || name == StudyFile:
		return errors.New("one of the run's own files")
	}
	return nil
}

// write replaces a file in one step: a new one beside it, flushed to disk, then
// renamed over it.
func (d *Dir) write(name string, data []byte) error {
	if err := d.replace(name, data); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(d.path, name), err)
	}
	return nil
}

func (d *Dir) replace(name string, data []byte) error {
	folder, base := path.Split(name)
	if folder != "" {
		if err := d.root.Mkdir(path.Clean(folder), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	// Not os.CreateTemp: its 0600 would keep a report made as root from its reader.
	temp := fmt.Sprintf("%s.%s.%08x.tmp", folder, base, rand.Uint32())
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, d.root.Remove(temp))
	}
	if folder != "" {
		if err := d.sync(path.Clean(folder)); err != nil {
			return err
		}
	}
	return d.sync(".")
}

// sync makes new names in a folder survive a power cut, where the file system
// has a way to: some network and shared ones refuse, and are used all the same.
// Windows flushes no folders.
func (d *Dir) sync(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := d.root.Open(folder)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
