package engine

import (
	"errors"
	"fmt"
	"runtime"

	"tare/internal/machine"
	"tare/internal/program"
	"tare/internal/program/agentfile"
)

// executable returns the path of the program for the engine's system: Binary, the agent's program if
// there is one for that system, the running program, or another file with this program, see
// machine.Find.
func (e *Engine) executable() (string, error) {
	system, arch := e.Versions.OS, e.Versions.Arch
	if system == "" || arch == "" {
		return "", errors.New("the engine does not report its system")
	}
	if e.Binary != "" {
		return e.Binary, checkExecutable(e.Binary, system, arch)
	}
	if path, err := agentfile.Path(); err == nil && system == runtime.GOOS && arch == runtime.GOARCH {
		return path, nil
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
	got, err := program.Alone(path)
	switch {
	case err != nil:
		return err
	case system != "linux" || got != arch:
		return fmt.Errorf("%s is for linux/%s and the engine runs %s/%s; set the path of a suitable one with %s", path, got, system, arch, BinaryVariable)
	}
	return nil
}
