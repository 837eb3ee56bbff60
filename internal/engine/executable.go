package engine

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// executable finds the program that fits the engine: what Binary names, the running
// one, or the one for the engine's system beside it, named tare-OS-ARCH.
func (e *Engine) executable() (string, error) {
	system, arch := e.Versions.OS, e.Versions.Arch
	if system == "" || arch == "" {
		return "", errors.New("the engine does not say what system it runs")
	}
	if e.Binary != "" {
		return e.Binary, checkExecutable(e.Binary, system, arch)
	}
	own, err := running()
	if err != nil {
		return "", err
	}
	if runtime.GOOS == system && runtime.GOARCH == arch {
		return own, checkExecutable(own, system, arch)
	}
	name := fmt.Sprintf("tare-%s-%s", system, arch)
	if file, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(file), name)
		if _, err := os.Stat(beside); err == nil {
			return beside, checkExecutable(beside, system, arch)
		}
	}
	return "", fmt.Errorf("this program is for %s/%s and the engine runs %s/%s: put a %s of the same version beside it, or name one with %s",
		runtime.GOOS, runtime.GOARCH, system, arch, name, BinaryVariable)
}

// running is the running program: on Linux also after its file was replaced.
func running() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// BinaryVariable names, in the environment, the tare that goes into the image where
// the running one does not fit the engine.
const BinaryVariable = "TARE_IMAGE_BINARY"

// checkExecutable returns why a program cannot be the only file of an image for a system.
func checkExecutable(path, system, arch string) error {
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is no program for %s/%s: %w", path, system, arch, err)
	}
	defer file.Close()
	if got := architecture(file); system != "linux" || got != arch {
		return fmt.Errorf("%s is for linux/%s and the engine runs %s/%s: name one that fits with %s", path, got, system, arch, BinaryVariable)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s needs shared libraries, of which the image has none: build it with CGO_ENABLED=0", path)
		}
	}
	return nil
}

// architecture is a program's architecture as Go names it.
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
