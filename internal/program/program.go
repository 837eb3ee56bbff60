// Package program examines the executable file of this program, which is copied to where agents
// are started.
package program

import (
	"debug/elf"
	"fmt"
)

// Alone opens a Linux program that needs no other file, and returns its architecture in Go's
// notation. Its error says why it is none.
func Alone(path string) (arch string, err error) {
	file, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s is not a program for Linux: %w", path, err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s needs shared libraries, which the image does not have; build it with CGO_ENABLED=0", path)
		}
	}
	return architecture(file), nil
}

// architecture returns a program's architecture in Go's notation.
func architecture(file *elf.File) string {
	little := file.Data == elf.ELFDATA2LSB
	switch file.Machine {
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_386:
		return "386"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_RISCV:
		return "riscv64"
	case elf.EM_S390:
		return "s390x"
	case elf.EM_LOONGARCH:
		return "loong64"
	case elf.EM_PPC64:
		if little {
			return "ppc64le"
		}
		return "ppc64"
	}
	return file.Machine.String()
}
