package engine

import (
	"debug/elf"
	"errors"
	"fmt"
	"runtime"

	"tare/internal/machine"
)

// executable returns the path of the program for the engine's system: Binary, the running program,
// or another file with this program, see machine.Find.
func (e *Engine) executable() (string, error) {
	system, arch := e.Versions.OS, e.Versions.Arch
	if system == "" || arch == "" {
		return "", errors.New("the engine does not report its system")
	}
	if e.Binary != "" {
		return e.Binary, checkExecutable(e.Binary, system, arch)
	}
	on := machine.System{OS: system, Arch: arch}
	if path := machine.Find(on, ""); path != "" {
		return path, checkExecutable(path, system, arch)
	}
	return "", fmt.Errorf("this program is for %s/%s and the engine runs %s/%s; put a %s of the same version beside it or set its path with %s",
		runtime.GOOS, runtime.GOARCH, system, arch, machine.BinaryName(on), BinaryVariable)
}

// BinaryVariable is the environment variable with the tare for the image if the running one is for
// another system than the engine.
const BinaryVariable = "TARE_IMAGE_BINARY"

// checkExecutable returns why a program cannot be the only file of an image for a system, or nil.
func checkExecutable(path, system, arch string) error {
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is not a program for %s/%s: %w", path, system, arch, err)
	}
	defer file.Close()
	if got := architecture(file); system != "linux" || got != arch {
		return fmt.Errorf("%s is for linux/%s and the engine runs %s/%s; set the path of a suitable one with %s", path, got, system, arch, BinaryVariable)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s needs shared libraries, which the image does not have; build it with CGO_ENABLED=0", path)
		}
	}
	return nil
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
