package store

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

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

// AppendFile appends whole lines to an additional file and creates it if necessary, with the
// same rules as WriteFile. A resumed run continues the file of its earlier part, without a last
// line that was cut when that was killed. Errors: those of WriteFile, which leave the file as it was.
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
