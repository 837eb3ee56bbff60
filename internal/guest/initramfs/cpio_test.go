package initramfs_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tare/internal/guest/initramfs"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// list reads an archive as the kernel does and returns one line per entry.
func list(archive []byte) (lines []string, err error) {
	for at := 0; ; {
		if len(archive) < at+110 || string(archive[at:at+6]) != "070701" {
			return lines, fmt.Errorf("no header at %d", at)
		}
		var f [13]int
		for i := range f {
			n, err := strconv.ParseUint(string(archive[at+6+8*i:at+14+8*i]), 16, 32)
			if err != nil {
				return lines, err
			}
			f[i] = int(n)
		}
		name := string(archive[at+110 : at+110+f[11]-1])
		at = (at + 110 + f[11] + 3) &^ 3
		content := archive[at : at+f[6]]
		at = (at + f[6] + 3) &^ 3
		if name == "TRAILER!!!" {
			if at != len(archive) {
				return lines, fmt.Errorf("%d bytes after the end", len(archive)-at)
			}
			return lines, nil
		}
		lines = append(lines, fmt.Sprintf("%06o %s %d:%d %q", f[1], name, f[9], f[10], content))
	}
}

func TestArchive(t *testing.T) {
	var out bytes.Buffer
	a := initramfs.New(&out)
	must.Do(t, errors.Join(
		a.Char("dev/console", 5, 1),
		a.Dir("dev"), // again
		a.Dir("run/deep/down"),
		a.File("run/x", 0o644, strings.NewReader("12345"), 5),
		a.File("empty", 0o600, strings.NewReader(""), 0),
		a.Link("bin/sh", "../tare"),
		a.Close()))
	got := must.Get(list(out.Bytes()))(t)
	want := []string{
		`040755 dev 0:0 ""`, `020600 dev/console 5:1 ""`, `040755 run 0:0 ""`, `040755 run/deep 0:0 ""`, `040755 run/deep/down 0:0 ""`,
		`100644 run/x 0:0 "12345"`, `100600 empty 0:0 ""`, `040755 bin 0:0 ""`, `120777 bin/sh 0:0 "../tare"`,
	}
	must.Equal(t, want, got)
}

// Invalid entries are an error, which Close returns again.
func TestArchiveRefuses(t *testing.T) {
	for name, write := range map[string]func(*initramfs.Archive) error{
		"an absolute path": func(a *initramfs.Archive) error { return a.File("/x", 0o644, strings.NewReader("1"), 1) },
		"a way out":        func(a *initramfs.Archive) error { return a.File("a/../../x", 0o644, strings.NewReader("1"), 1) },
		"a short file":     func(a *initramfs.Archive) error { return a.File("x", 0o644, strings.NewReader("1"), 2) },
		"a large file":     func(a *initramfs.Archive) error { return a.File("x", 0o644, strings.NewReader("1"), 1<<33) },
		"a file twice": func(a *initramfs.Archive) error {
			return errors.Join(a.Link("x", "y"), a.Link("x", "y"))
		},
	} {
		a := initramfs.New(io.Discard)
		must.True(t, write(a) != nil && a.Close() != nil, "%s was written", name)
	}
}

// A program in the archive has everything that the kernel maps, and nothing more.
func TestProgram(t *testing.T) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		testneed.Missing(t, testneed.Other, err)
	}
	defer self.Close()
	var out bytes.Buffer
	a := initramfs.New(&out)
	must.Do(t, a.Program("tare", self), a.Close())
	archive := out.Bytes()
	at := bytes.Index(archive, []byte(elf.ELFMAG))
	must.Require(t, at >= 0, "there is no program in the archive")
	f := must.Get(elf.NewFile(bytes.NewReader(archive[at:])))(t)
	original := must.Get(elf.NewFile(self))(t)
	must.Equal(t, []int{0, len(original.Progs)}, []int{len(f.Sections), len(f.Progs)})
	mapped := uint64(0)
	for i, p := range f.Progs {
		if p.Type == elf.PT_LOAD || p.Type == elf.PT_NOTE || p.Type == elf.PT_TLS {
			mapped = max(mapped, p.Off+p.Filesz)
		}
		got, err1 := io.ReadAll(p.Open())
		want, err2 := io.ReadAll(original.Progs[i].Open())
		must.True(t, p.Off == 0 || err1 == nil && err2 == nil && bytes.Equal(got, want), "segment %d differs: %v, %v", i, err1, err2)
	}
	const entries = 512 // the headers of the program and of the end
	if n := uint64(out.Len()); n < mapped || n > mapped+entries {
		t.Errorf("%d bytes of a program of which %d are mapped", n, mapped)
	}
}

func TestProgramRefuses(t *testing.T) {
	header := make([]byte, 64+56)
	copy(header, elf.ELFMAG)
	header[4], header[5], header[6] = 2, 1, 1 // 64 bits, little-endian, version 1
	binary.LittleEndian.PutUint16(header[16:], 2)
	binary.LittleEndian.PutUint16(header[18:], 62)
	binary.LittleEndian.PutUint32(header[20:], 1)
	binary.LittleEndian.PutUint64(header[32:], 64) // e_phoff
	binary.LittleEndian.PutUint16(header[52:], 64)
	binary.LittleEndian.PutUint16(header[54:], 56)
	binary.LittleEndian.PutUint16(header[56:], 1)
	binary.LittleEndian.PutUint16(header[58:], 64)
	binary.LittleEndian.PutUint32(header[64:], uint32(elf.PT_INTERP))
	if err := initramfs.New(io.Discard).Program("x", bytes.NewReader(header)); !errors.Is(err, initramfs.ErrDynamic) {
		t.Errorf("a program with a loader: %v", err)
	}
	path := filepath.Join(t.TempDir(), "script")
	must.Do(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600))
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	must.FailFor(t, "a script was accepted as a program", initramfs.New(io.Discard).Program("x", f))
}
