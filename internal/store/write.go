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
	"slices"
	"strings"
	"syscall"

	"tare/internal/result"
)

// Append adds a trial to trials.ndjson, as one line that is on disk when Append returns.
// An empty Schema is filled in. Errors: a trial that could not be read back (no mode,
// workload or known status, a value that is NaN or infinite, a line above 8 MiB), which
// leaves the file unchanged; ErrFull, which does so too; ErrGone; a failed write. After the last two every Append fails,
// because the line may be cut and nothing may follow it.
func (d *Dir) Append(t result.Trial) error {
	line, err := encodeTrial(t)
	if err == nil {
		err = d.appendLine(line)
	}
	if err != nil {
		return fmt.Errorf("append trial %d to %s: %w", t.Seq, filepath.Join(d.Path(), TrialsFile), err)
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
	if d.size+int64(len(line)) > maxTrialsFile {
		return ErrFull
	}
	if err := d.followTrials(); err != nil {
		d.broken = err
		return err
	}
	if _, err := d.trials.Write(line); err != nil {
		d.broken = err
		return err
	}
	d.size += int64(len(line))
	if err := d.trials.Sync(); err != nil {
		d.broken = err
		return err
	}
	return nil
}

// WriteStudy writes study.yaml.
func (d *Dir) WriteStudy(data []byte) error { return d.write(StudyFile, data) }

// WriteRun writes run.json as encoded by [EncodeRun]. Errors: those of EncodeRun; a
// failed write, which leaves an earlier run.json unchanged.
func (d *Dir) WriteRun(r result.Run) error {
	data, err := EncodeRun(r)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(d.Path(), RunFile), err)
	}
	return d.write(RunFile, data)
}

// WriteFile writes an additional file, such as report.html or figures/goodput.svg, in the
// run's directory or in one subdirectory, which it creates. A reader sees the old file or
// the new one, never a part. Errors: a name that leads elsewhere or is one of the run's
// own files; a failed write.
func (d *Dir) WriteFile(name string, data []byte) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("write %q in %s: %w", name, d.Path(), err)
	}
	return d.write(name, data)
}

// AppendFile appends to an additional file and creates it if necessary, with the same
// rules as WriteFile. A resumed run continues the file of its earlier part. Errors: those
// of WriteFile; a failed write may leave a part.
func (d *Dir) AppendFile(name string, data []byte) error {
	err := checkName(name)
	if err == nil {
		err = d.add(name, data)
	}
	if err != nil {
		return fmt.Errorf("append to %q in %s: %w", name, d.Path(), err)
	}
	return nil
}

func (d *Dir) add(name string, data []byte) error {
	folder, _ := path.Split(name)
	if err := d.makeFolder(folder); err != nil {
		return err
	}
	f, err := d.openAdding(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// openAdding opens an additional file for appending, and creates it if necessary.
func (d *Dir) openAdding(name string) (*os.File, error) {
	f, err := d.openRegular(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return d.openRegular(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	}
	if err == nil {
		d.owner.giveFile(f)
	}
	return f, err
}

// makeFolder creates a subdirectory, unless there is one.
func (d *Dir) makeFolder(folder string) error {
	if folder == "" {
		return nil
	}
	return d.owner.mkdir(d.root, path.Clean(folder))
}

func checkName(name string) error {
	switch {
	// path.Clean: a name has one spelling, so that the comparison below is valid.
	case !filepath.IsLocal(name) || name != path.Clean(name) || name == "." || strings.ContainsAny(name, "\\\x00"):
		return errors.New("not a plain name within the directory")
	case strings.Count(name, "/") > 1:
		return errors.New("more than one directory deep")
	case slices.Contains([]string{RunFile, TrialsFile, StudyFile, SessionsFile, lockFile}, name):
		return errors.New("one of the run's own files")
	}
	return nil
}

// write replaces a file atomically: it writes a new one in the same directory, flushes it
// to disk, then renames it.
func (d *Dir) write(name string, data []byte) error {
	err := d.followOpen()
	if err == nil {
		err = d.replace(name, data)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(d.Path(), name), err)
	}
	return nil
}

func (d *Dir) replace(name string, data []byte) error {
	folder, base := path.Split(name)
	if err := d.makeFolder(folder); err != nil {
		return err
	}
	// Not os.CreateTemp: its mode 0600 would prevent other users from reading a report
	// that root created.
	temp := fmt.Sprintf("%s.%s.%08x.tmp", folder, base, rand.Uint32())
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	d.owner.giveFile(f)
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

// sync makes new names in a directory survive a power failure. Some network and shared
// file systems do not support that and are used without it. Windows does not flush
// directories.
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
