package kernel

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"tare/internal/testkit/must"
)

// packed compresses text in the format of a file's extension.
func packed(f *testing.F, extension, text string) []byte {
	f.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch extension {
	case ".gz":
		w = gzip.NewWriter(&b)
	case ".xz":
		w, err = xz.NewWriter(&b)
	case ".zst":
		w, err = zstd.NewWriter(&b)
	default:
		return []byte(text)
	}
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	must.Require(f, err == nil && w.Close() == nil, "%v", err)
	return b.Bytes()
}

// FuzzUnpack checks that any file is an error, or a module of bounded size whose dependencies have
// no zero byte.
func FuzzUnpack(f *testing.F) {
	extensions := []string{".ko", ".gz", ".xz", ".zst", ".lz4"}
	for i, e := range extensions {
		f.Add(byte(i), packed(f, e, strings.Repeat("depends=a,b\x00", 50)))
	}
	f.Add(byte(0), []byte("\x7fELF\x02\x01\x01"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, format byte, content []byte) {
		path := filepath.Join(dir, "x"+extensions[int(format)%len(extensions)])
		must.Do(t, os.WriteFile(path, content, 0o600))
		module, err := unpack(path)
		if err != nil {
			return
		}
		must.True(t, len(module) <= largestModule, "%d bytes of %d", len(module), len(content))
		needs, err := depends(module)
		for _, n := range needs {
			must.True(t, err == nil && !strings.Contains(n, "\x00"), "%v beside the dependency %q", err, n)
		}
	})
}

// memory is a file in memory, as Direct writes it.
type memory struct{ bytes.Buffer }

func (m *memory) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(m.Bytes()).ReadAt(b, at)
}

// FuzzImage checks that any image of a kernel is an error, or has as many bytes as it declares.
func FuzzImage(f *testing.F) {
	image := func(payload []byte, size uint32) []byte {
		le, b := binary.LittleEndian, make([]byte, 1024)
		b[sectorsAt] = 1
		copy(b[magicAt:], magic)
		le.PutUint16(b[protocolAt:], payloadProtocol)
		le.PutUint32(b[payloadSizeAt:], uint32(len(payload)+sizeBytes))
		return le.AppendUint32(append(b, payload...), size)
	}
	text := strings.Repeat("\x7fELF", 100)
	f.Add(image(packed(f, ".zst", text), 400))
	gz := packed(f, ".gz", text)
	f.Add(image(gz[:len(gz)-sizeBytes], 400)) // its last bytes are the size
	f.Add(image([]byte{0x02, 0x21, 0x4c, 0x18, 1, 0, 0, 0, 0x10, 'a'}, 1))
	f.Add(image([]byte("xxxx"), 1<<31))
	f.Add([]byte("MZ"))
	f.Fuzz(func(t *testing.T, content []byte) {
		to := &memory{}
		if err := unpackImage(bytes.NewReader(content), to); err != nil {
			return
		}
		if want := binary.LittleEndian.Uint32(content[len(content)-sizeBytes:]); to.Len() > largestKernel || len(content) == 1024+int(want) && to.Len() != int(want) {
			t.Errorf("%d bytes of %d", to.Len(), len(content))
		}
		_ = startsDirectly(to) // an error for everything here; it must not panic
	})
}

// FuzzNotes checks that any notes of a kernel can be searched, and that the entry point is found
// only where its owner's name is.
func FuzzNotes(f *testing.F) {
	note := func(owner string, kind uint32) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(owner)))
		b = binary.LittleEndian.AppendUint32(b, 4)
		b = binary.LittleEndian.AppendUint32(b, kind)
		return append(append(b, owner...), 1, 2, 3, 4)
	}
	f.Add(note(entryOwner, entryNote), false)
	f.Add(append(note("GNU\x00", 3), note(entryOwner, entryNote)...), false)
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), true)
	f.Fuzz(func(t *testing.T, notes []byte, big bool) {
		var order binary.ByteOrder = binary.LittleEndian
		if big {
			order = binary.BigEndian
		}
		must.True(t, !hasEntry(notes, order) || bytes.Contains(notes, []byte(entryOwner)), "%q has an entry point", notes)
	})
}

// FuzzVersion checks that any image is an error or has a version that is the name of a directory.
func FuzzVersion(f *testing.F) {
	image := func(version string) []byte {
		b := make([]byte, 0x600)
		copy(b[magicAt:], magic)
		binary.LittleEndian.PutUint16(b[versionAt:], 0x400)
		return append(b, version...)
	}
	f.Add(image("6.1.0-9-amd64 (a@b) #1\x00"))
	f.Add(image("../../etc\x00"))
	f.Add(image("..\x00"))
	f.Add(image("\x1b[31m\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		v, err := version(bytes.NewReader(content))
		must.True(t, err != nil || v != "" && v != "." && v != ".." && !strings.ContainsAny(v, "/\x00\n\r\x1b"), "the version is %q", v)
		prefer(v, "6.1.0")
	})
}
