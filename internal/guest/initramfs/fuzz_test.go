package initramfs_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"path"
	"strings"
	"testing"

	"tare/internal/guest/initramfs"
	"tare/internal/testkit/must"
)

// FuzzProgram checks that any file given as a program is an error, or is in the archive as far as
// the kernel maps it and not beyond its end.
func FuzzProgram(f *testing.F) {
	segment := func(kind uint32, offset, size uint64) []byte {
		le, b := binary.LittleEndian, make([]byte, 64+56+8)
		copy(b, "\x7fELF\x02\x01\x01")
		le.PutUint16(b[16:], 2)
		le.PutUint16(b[18:], 62)
		le.PutUint32(b[20:], 1)
		le.PutUint64(b[32:], 64)
		le.PutUint16(b[52:], 64)
		le.PutUint16(b[54:], 56)
		le.PutUint16(b[56:], 1)
		le.PutUint16(b[58:], 64)
		le.PutUint32(b[64:], kind)
		le.PutUint64(b[72:], offset)
		le.PutUint64(b[96:], size)
		return b
	}
	f.Add(segment(1, 0, 128))
	f.Add(segment(1, 64, math.MaxUint64-10))
	f.Add(segment(1, 1<<62, 1<<62))
	f.Add(segment(3, 64, 8))
	f.Add([]byte("#!/bin/sh\n"))
	f.Fuzz(func(t *testing.T, program []byte) {
		var out bytes.Buffer
		a := initramfs.New(&out)
		if a.Program("bin/x", bytes.NewReader(program)) != nil {
			must.FailFor(t, "an archive with an error was closed without one", a.Close())
			return
		}
		must.Do(t, a.Close())
		if _, err := list(out.Bytes()); err != nil || out.Len() > len(program)+1024 {
			t.Errorf("%v, %d bytes of a program of %d", err, out.Len(), len(program))
		}
	})
}

// FuzzArchive checks that an archive has the file and the parents of its path, or refuses it.
func FuzzArchive(f *testing.F) {
	f.Add("a/b/c", "text")
	f.Add("../x", "")
	f.Add("/x", "1")
	f.Add("a\x00b", "1")
	f.Add(strings.Repeat("a/", 200)+"b", "123")
	f.Fuzz(func(t *testing.T, name, content string) {
		var out bytes.Buffer
		a := initramfs.New(&out)
		if a.File(name, 0o644, strings.NewReader(content), int64(len(content))) != nil {
			return
		}
		must.Do(t, a.Close())
		lines, err := list(out.Bytes())
		must.True(t, err == nil && len(lines) == strings.Count(path.Clean(name), "/")+1, "%v: %q became %q", err, name, lines)
	})
}
