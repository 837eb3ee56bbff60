package initramfs

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// The offsets in the header of a 64-bit ELF file that locate its sections: e_shoff, and e_shnum
// followed by e_shstrndx (ELF-64 object file format, section 3).
const (
	sectionsAt    = 0x28
	sectionsCount = 0x3c
	headerSize    = 0x40
)

// ErrDynamic means that a program needs a loader and libraries to run.
var ErrDynamic = errors.New("the program is dynamically linked; build it with CGO_ENABLED=0")

// Program adds a static 64-bit program without its debugging sections.
func (a *Archive) Program(name string, program io.ReaderAt) error {
	size, err := loaded(program)
	if err != nil {
		a.keep(fmt.Errorf("write %s into the guest's file system: %w", name, err))
		return a.err
	}
	header := make([]byte, headerSize)
	if _, err := program.ReadAt(header, 0); err != nil {
		a.keep(fmt.Errorf("read %s: %w", name, err))
		return a.err
	}
	clear(header[sectionsAt : sectionsAt+8])
	clear(header[sectionsCount : sectionsCount+4])
	content := io.MultiReader(bytes.NewReader(header), io.NewSectionReader(program, headerSize, size-headerSize))
	return a.File(name, 0o755, content, size)
}

// loaded returns how much of a program's file the kernel maps.
func loaded(program io.ReaderAt) (size int64, err error) {
	f, err := elf.NewFile(program)
	if err != nil {
		return 0, err
	}
	if f.Class != elf.ELFCLASS64 || f.ByteOrder != binary.LittleEndian {
		return 0, fmt.Errorf("it is a program for %s %s", f.Class, f.ByteOrder)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return 0, ErrDynamic
		}
		if p.Type == elf.PT_LOAD || p.Type == elf.PT_NOTE || p.Type == elf.PT_TLS {
			if p.Off > math.MaxUint32 || p.Filesz > math.MaxUint32 {
				return 0, fmt.Errorf("a segment of %d bytes at %d does not fit into a cpio archive", p.Filesz, p.Off)
			}
			size = max(size, int64(p.Off+p.Filesz))
		}
	}
	if size < headerSize {
		return 0, errors.New("it has no loadable segment")
	}
	return size, nil
}
