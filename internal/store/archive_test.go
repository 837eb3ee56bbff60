package store

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// archiveOf returns the archive of a run with these files.
func archiveOf(t testing.TB, files map[string]string) string {
	t.Helper()
	d := must.Get(Create(filepath.Join(t.TempDir(), "run")))(t)
	defer d.Close()
	for name, text := range files {
		must.Do(t, d.write(name, []byte(text)))
	}
	var out bytes.Buffer
	must.Do(t, d.WriteArchive(&out))
	return out.String()
}

// A run passes through a text whole, though other lines are before it, behind it and in it.
func TestArchive(t *testing.T) {
	files := map[string]string{StudyFile: "name: x\n", RunFile: strings.Repeat(`{"a": "b"}`, 1000), SessionsFile: "{}", TrialsFile: strings.Repeat("a line\n", 3000)}
	lines := strings.SplitAfter(archiveOf(t, files), "\n")
	text := "progress 1/2\n" + strings.Join(lines[:4], "") + "warning: a line of another stream\n" + strings.Join(lines[4:], "") + "the end\n"
	a := must.Get(ReadArchive(strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n"))))(t)
	d := must.Get(Create(filepath.Join(t.TempDir(), "copy")))(t)
	defer d.Close()
	must.Do(t, d.Unpack(a))
	for name, want := range files {
		got, err := d.read(name, maxUnpacked)
		must.True(t, err == nil && string(got) == want, "%s has %d bytes, want %d: %v", name, len(got), len(want), err)
	}
}

// What is no archive, or a part of one, is refused with the reason.
func TestArchiveRefused(t *testing.T) {
	text := archiveOf(t, map[string]string{StudyFile: strings.Repeat("name: x\n", 3), TrialsFile: "a line\n"})
	lines := strings.SplitAfter(text, "\n")
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":     {"", ErrNoArchive.Error()},
		"other text":  {"Error from server\n", ErrNoArchive.Error()},
		"no run":      {archiveOf(t, map[string]string{StudyFile: "name: x\n"}), "it has no trial and no result"},
		"cut":         {strings.Join(lines[:len(lines)-2], ""), "its last line is missing"},
		"a line less": {strings.Join(lines[:3], "") + strings.Join(lines[4:], ""), "lines are missing"},
		"changed":     {strings.Replace(text, lines[3], strings.ToLower(lines[3]), 1), "lines are missing"},
		"no checksum": {strings.Replace(text, lines[1], "", 1), "checksum"},
	} {
		_, err := ReadArchive(strings.NewReader(tt.text))
		must.True(t, err != nil && strings.Contains(err.Error(), tt.want) && errors.Is(err, ErrNoArchive) == (tt.want == ErrNoArchive.Error()), "%s: %v, want %q", name, err, tt.want)
	}
}

// An archive holds no more than a pod's log can, and unpacks to no more than fits into memory.
func TestArchiveSize(t *testing.T) {
	d := must.Get(Create(filepath.Join(t.TempDir(), "run")))(t)
	defer d.Close()
	must.Do(t, d.write(TrialsFile, make([]byte, maxUnpacked+1)))
	err := d.WriteArchive(&bytes.Buffer{})
	must.True(t, errors.Is(err, errTooLarge), "%d bytes: %v", maxUnpacked+1, err)
	// Two files that are each small enough.
	for _, name := range []string{TrialsFile, StudyFile} {
		must.Do(t, d.write(name, make([]byte, maxUnpacked*2/3)))
	}
	var out bytes.Buffer
	must.Do(t, d.WriteArchive(&out))
	if _, err := ReadArchive(&out); !errors.Is(err, errTooLarge) {
		t.Errorf("a small archive of large files: %v", err)
	}
}

// FuzzArchive checks that a text from anybody is an error, or files with the names of a run's that
// are not larger than what may be unpacked.
func FuzzArchive(f *testing.F) {
	f.Add(archiveOf(f, map[string]string{StudyFile: "name: x\n"}))
	f.Add("-----BEGIN TARE RUN-----\nSHA-256: 0\n\nAAAA\n-----END TARE RUN-----\n")
	f.Add("nothing")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ReadArchive(strings.NewReader(text))
		if err != nil {
			return
		}
		d := must.Get(Create(filepath.Join(t.TempDir(), "run")))(t)
		defer d.Close()
		must.Do(t, d.Unpack(a))
		names, err := d.names()
		must.True(t, err == nil && len(names) <= len(archived()), "%v, %v", names, err)
	})
}
