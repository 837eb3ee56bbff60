package kernel_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/pierrec/lz4/v4"

	"tare/internal/guest/kernel"
	"tare/internal/testkit/must"
)

// note returns a note of an ELF file.
func note(owner string, kind uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(owner)))
	b = binary.LittleEndian.AppendUint32(b, 5) // its value is padded to whole words
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = append(b, owner...)
	b = append(b, make([]byte, (4-len(owner)%4)%4+8)...)
	return b
}

// started returns a minimal ELF file with notes.
func started(notes ...[]byte) []byte {
	const header, prog = 64, 56
	all := bytes.Join(notes, nil)
	b := make([]byte, header+prog)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], 2)
	le.PutUint16(b[18:], 62)
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], header)
	le.PutUint16(b[52:], header)
	le.PutUint16(b[54:], prog)
	le.PutUint16(b[56:], 1)
	le.PutUint16(b[58:], 64) // of sections, of which there are none
	le.PutUint32(b[header:], 4)
	le.PutUint64(b[header+8:], header+prog)
	le.PutUint64(b[header+32:], uint64(len(all)))
	le.PutUint64(b[header+40:], uint64(len(all)))
	return append(b, all...)
}

// packed returns a payload as images have it: followed by its size, which gzip includes itself.
func packed(t *testing.T, how string, content []byte) []byte {
	t.Helper()
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(content)))
	switch how {
	case "gz":
		return compressed(t, ".gz", content)
	case "lz4":
		var b bytes.Buffer
		w := lz4.NewWriter(&b)
		err := w.Apply(lz4.LegacyOption(true))
		if err == nil {
			_, err = w.Write(content)
		}
		if err == nil {
			err = w.Close()
		}
		must.Do(t, err)
		return append(b.Bytes(), size...)
	case "none":
		return append(bytes.Clone(content), size...)
	}
	return append(compressed(t, "."+how, content), size...)
}

// carrying returns an image with a payload.
func carrying(payload []byte) []byte {
	b := image("6.1.0")
	b[0x1f1] = 2
	le := binary.LittleEndian
	le.PutUint16(b[0x206:], 0x20f)
	le.PutUint32(b[0x248:], uint32(len(b)-3*512))
	le.PutUint32(b[0x24c:], uint32(len(payload)))
	return append(b, payload...)
}

func TestDirect(t *testing.T) {
	entry := started(note("GNU\x00", 3), note("Linux\x00", 18), note("Xen\x00", 18))
	early := carrying(packed(t, "gz", entry))
	binary.LittleEndian.PutUint16(early[0x206:], 0x207)
	wrong := packed(t, "lz4", entry)
	wrong[len(wrong)-4]++
	whole := carrying(packed(t, "zst", entry))
	for name, c := range map[string]struct {
		image []byte
		says  string // empty: it can be started
	}{
		"gzip":             {carrying(packed(t, "gz", entry)), ""},
		"zstd":             {whole, ""},
		"lz4":              {carrying(packed(t, "lz4", entry)), ""},
		"xz":               {carrying(packed(t, "xz", entry)), "unknown or slow"},
		"not packed":       {carrying(packed(t, "none", entry)), "unknown or slow"},
		"no image":         {entry, "EOF"},
		"an early one":     {early, "does not locate its payload"},
		"truncated":        {whole[:len(whole)-9], "the image is truncated"},
		"another size":     {carrying(wrong), "as declared"},
		"no entry point":   {carrying(packed(t, "gz", started(note("Xen\x00", 17), note("GNU\x00", 18)))), "no entry point"},
		"broken notes":     {carrying(packed(t, "gz", started([]byte("\x04\x00\x00\x00\xff\xff\xff\xff\x12\x00\x00\x00Xen\x00")))), "no entry point"},
		"something else":   {carrying(packed(t, "gz", []byte("#!/bin/sh"))), "directly: EOF"},
		"nothing":          {carrying(nil), "truncated"},
		"broken inside":    {carrying(append([]byte{0x28, 0xb5, 0x2f, 0xfd}, make([]byte, 20)...)), "unpack kernel"},
		"no notes at all":  {carrying(packed(t, "gz", started())), "no entry point"},
		"begin of a frame": {carrying([]byte{0x02, 0x21, 0x4c, 0x18, 0, 0, 0, 0}), "directly: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "vmlinuz")
			write(t, path, c.image)
			f := must.Get(os.Create(filepath.Join(dir, "out")))(t)
			defer f.Close()
			err := kernel.Kernel{Image: path}.Direct(f)
			if c.says != "" {
				must.Fail(t, err, c.says)
				return
			}
			got, rerr := os.ReadFile(f.Name())
			must.True(t, err == nil && rerr == nil && bytes.Equal(got, entry), "%d bytes of %d: %v", len(got), len(entry), err)
		})
	}
}
