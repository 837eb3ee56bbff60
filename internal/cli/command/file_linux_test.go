package command

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
)

// A file that the user names is replaced when the new one is complete, and what is no file is written to.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	text := func(name string) string { return string(must.Get(os.ReadFile(at(name)))(t)) }
	words := func(to io.Writer) error { _, err := io.WriteString(to, "new"); return err }
	half := func(to io.Writer) error { return errors.Join(words(to), errors.New("no more")) }
	must.Do(t, os.WriteFile(at("yesterday"), []byte("old"), 0o600))
	must.Do(t, os.Symlink("yesterday", at("link")))
	must.Do(t, unix.Mkfifo(at("pipe"), 0o600))

	must.Fail(t, WriteFile(at("yesterday"), half), "no more")
	must.Fail(t, WriteFile(at("none"), half), "no more")
	must.Fail(t, WriteFile(at("pipe"), words), "a pipe that nobody reads")
	must.Fail(t, WriteFile("/dev/full", words), "no space left")
	must.EqualFor(t, "after failures", "old", text("yesterday"))
	must.Do(t, WriteFile(at("link"), words))
	must.Do(t, WriteFile(at("today"), words))
	must.Do(t, WriteFile(os.DevNull, words))
	must.EqualFor(t, "through a link", "new", text("yesterday"))
	must.EqualFor(t, "a new file", "new", text("today"))
	must.EqualFor(t, "mode", os.FileMode(0o600), must.Get(os.Lstat(at("yesterday")))(t).Mode())

	reader := os.NewFile(uintptr(must.Get(unix.Open(at("pipe"), unix.O_RDONLY|unix.O_NONBLOCK, 0))(t)), "pipe")
	must.Do(t, WriteFile(at("pipe"), words))
	must.EqualFor(t, "the pipe", "new", string(must.Get(io.ReadAll(reader))(t)))
	must.Do(t, reader.Close())
	var left []string
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		left = append(left, e.Name())
	}
	must.Equal(t, []string{"link", "pipe", "today", "yesterday"}, left)
}
