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

// Where an x86 image says what it carries, from version 2.08 of its boot protocol on
// (Documentation/arch/x86/boot.rst of the kernel): the sectors before its code but the
// first, where behind them the payload is, and how long that is with the four bytes that
// tell its size once unpacked.
const (
	sectorsAt, sector, usualSectors = 0x1f1, 512, 4
	protocolAt, payloadProtocol     = 0x206, 0x0208
	payloadAt, payloadSizeAt        = 0x248, 0x24c
	sizeBytes                       = 4
)

// largestKernel bounds an unpacked kernel, in bytes.
const largestKernel = 256 << 20

// Direct writes to f the kernel that the image carries packed: an ELF file with the entry
// point by which an emulator starts it as it is. An emulated CPU unpacks the image in a
// large part of a second otherwise. The error says why the image cannot be taken apart,
// which is also so where to do it here would take as long; it can be booted all the same.
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
		return errors.New("it does not say where it is")
	}
	sectors := int64(header[sectorsAt])
	if sectors == 0 {
		sectors = usualSectors
	}
	from, long := (sectors+1)*sector+int64(le.Uint32(header[payloadAt:])), int64(le.Uint32(header[payloadSizeAt:]))-sizeBytes
	size := make([]byte, sizeBytes)
	if _, err := image.ReadAt(size, from+long); err != nil || long <= 0 {
		return fmt.Errorf("it is cut short: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	want := int64(le.Uint32(size))
	r, done, err := unpacked(io.NewSectionReader(image, from, long), size)
	if err != nil {
		return err
	}
	defer done()
	n, err := io.Copy(to, io.LimitReader(r, largestKernel+1))
	if err == nil && n != want {
		err = fmt.Errorf("it has %d bytes, not the %d that it tells", n, want)
	}
	return err
}

// unpacked reads what was packed in one of the ways that are fast to undo. Of gzip, what
// tells the size is part of the format itself.
func unpacked(packed io.Reader, size []byte) (r io.Reader, done func(), err error) {
	b := bufio.NewReader(packed)
	begin, err := b.Peek(4)
	switch {
	case err != nil:
		return nil, nil, err
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		r, err = gzip.NewReader(io.MultiReader(b, bytes.NewReader(size)))
	case bytes.Equal(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b)
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	case bytes.Equal(begin, []byte{0x02, 0x21, 0x4c, 0x18}): // the old frames of LZ4, which kernels have
		r = lz4.NewReader(b)
	default:
		err = fmt.Errorf("it is packed in a way that is not known here or slow (% x)", begin)
	}
	return r, func() {}, err
}

// The note in a kernel's ELF file with the address at which it can be started without the
// image around it (include/xen/interface/elfnote.h of the kernel, XEN_ELFNOTE_PHYS32_ENTRY).
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
	return errors.New("it has no entry point for that (CONFIG_PVH)")
}

// hasEntry looks through notes: each is the sizes of its owner's name and of its value,
// its type, and the two, padded to whole words.
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
