package kernel

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// The offsets in an x86 image, from version 2.08 of the boot protocol on, that locate its payload
// (Documentation/arch/x86/boot.rst of the kernel): the number of sectors before the code, not
// counting the first, the offset of the payload after them, and its length including the four bytes
// with its unpacked size.
const (
	sectorsAt, sector, usualSectors = 0x1f1, 512, 4
	protocolAt, payloadProtocol     = 0x206, 0x0208
	payloadAt, payloadSizeAt        = 0x248, 0x24c
	sizeBytes                       = 4
)

// largestKernel bounds an unpacked kernel, in bytes.
const largestKernel = 256 << 20

// Direct writes the unpacked kernel of the image to f: an ELF file with the entry point by which an
// emulator starts it directly. Otherwise an emulated CPU takes a large part of a second to unpack
// the image. The error says why the image cannot be unpacked here, which includes formats that
// would take as long; it can still be booted.
func (k Kernel) Direct(f interface {
	io.Writer
	io.ReaderAt
}) error {
	image, err := os.Open(k.Image)
	if err != nil {
		return err
	}
	defer image.Close()
	if err := unpackImage(image, f); err != nil {
		return fmt.Errorf("unpack kernel %s: %w", k.Image, err)
	}
	if err := startsDirectly(f); err != nil {
		return fmt.Errorf("start kernel %s directly: %w", k.Image, err)
	}
	return nil
}

func unpackImage(image io.ReaderAt, to io.Writer) error {
	header := make([]byte, payloadSizeAt+sizeBytes)
	if _, err := image.ReadAt(header, 0); err != nil {
		return err
	}
	le := binary.LittleEndian
	if string(header[magicAt:magicAt+len(magic)]) != magic || le.Uint16(header[protocolAt:]) < payloadProtocol {
		return errors.New("the image does not locate its payload")
	}
	sectors := int64(header[sectorsAt])
	if sectors == 0 {
		sectors = usualSectors
	}
	from, long := (sectors+1)*sector+int64(le.Uint32(header[payloadAt:])), int64(le.Uint32(header[payloadSizeAt:]))-sizeBytes
	size := make([]byte, sizeBytes)
	if _, err := image.ReadAt(size, from+long); err != nil || long <= 0 {
		return fmt.Errorf("the image is truncated: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	want := int64(le.Uint32(size))
	r, done, err := unpacked(io.NewSectionReader(image, from, long), size)
	if err != nil {
		return err
	}
	defer done()
	n, err := io.Copy(to, io.LimitReader(r, largestKernel+1))
	if err == nil && n != want {
		err = fmt.Errorf("the payload has %d bytes, not %d as declared", n, want)
	}
	return err
}

// unpacked decompresses the formats that are fast to decompress. In gzip the size is part of the
// format.
func unpacked(packed io.Reader, size []byte) (r io.Reader, done func(), err error) {
	b := bufio.NewReader(packed)
	begin, err := b.Peek(4)
	switch {
	case err != nil:
		return nil, nil, err
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		r, err = gzip.NewReader(io.MultiReader(b, bytes.NewReader(size)))
	case bytes.Equal(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderMaxWindow(largestWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	case bytes.Equal(begin, []byte{0x02, 0x21, 0x4c, 0x18}): // the legacy LZ4 frames that kernels use
		r = lz4.NewReader(b)
	default:
		err = fmt.Errorf("its compression format is unknown or slow (% x)", begin)
	}
	return r, func() {}, err
}

// The note in a kernel's ELF file with the address at which it can be started without its image
// (include/xen/interface/elfnote.h of the kernel, XEN_ELFNOTE_PHYS32_ENTRY).
const (
	entryOwner = "Xen\x00"
	entryNote  = 18
	largeNotes = 1 << 20
)

// startsDirectly checks that a kernel has that note.
func startsDirectly(kernel io.ReaderAt) error {
	f, err := elf.NewFile(kernel)
	if err != nil {
		return err
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz == 0 || p.Filesz > largeNotes {
			continue
		}
		notes := make([]byte, p.Filesz)
		if _, err := p.ReadAt(notes, 0); err != nil {
			return err
		}
		if hasEntry(notes, f.ByteOrder) {
			return nil
		}
	}
	return errors.New("it has no entry point for direct boot (CONFIG_PVH)")
}

// hasEntry searches notes: each is the sizes of its owner's name and of its value, its type, and
// both, padded to whole words.
func hasEntry(notes []byte, order binary.ByteOrder) bool {
	const head = 12
	padded := func(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }
	for len(notes) >= head {
		owner, value, kind := order.Uint32(notes), order.Uint32(notes[4:]), order.Uint32(notes[8:])
		whole := head + padded(owner) + padded(value)
		if whole > uint64(len(notes)) {
			return false
		}
		if kind == entryNote && string(notes[head:head+owner]) == entryOwner {
			return true
		}
		notes = notes[whole:]
	}
	return false
}
