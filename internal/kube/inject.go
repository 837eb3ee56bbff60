package kube

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"tare/internal/machine"
	"tare/internal/program"
	"tare/internal/program/agentfile"
)

// Where an injected program is, in a volume of the pod that is writable for its user.
const (
	injectedDir     = "/tare-program"
	injectedProgram = injectedDir + "/tare"
)

// awaitProgram waits until the program is complete, and becomes it. The program and its
// arguments follow as $0 and $@.
const awaitProgram = `until [ -x "$0" ]; do sleep 0.05; done; exec "$0" "$@"`

// storeProgram writes stdin to $0, which appears only when it is complete.
const storeProgram = `cat >"$0.part" && chmod 755 "$0.part" && mv "$0.part" "$0"`

// injectProgram copies the agent's program into the pod, or this program if it has none. It must be
// for the node's architecture.
func (p *Pod) injectProgram(ctx context.Context) error {
	path, err := agentfile.Path()
	if err != nil || os.Getenv(BinaryVariable) != "" {
		path, _, err = source()
	}
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("copy this program into pod %s: %w", p.Name, err)
	}
	defer file.Close()
	if _, err := p.Execute(ctx, file, "/bin/sh", "-c", storeProgram, injectedProgram); err != nil {
		return fmt.Errorf("copy this program into pod %s, whose image needs sh, cat, chmod, mv and sleep: %w", p.Name, err)
	}
	return nil
}

// BinaryVariable is the environment variable with the path of this program for linux, if the
// running one is for another system or architecture than the cluster's nodes.
const BinaryVariable = "TARE_IMAGE_BINARY"

// source returns the file of this program for pods, and its architecture.
func source() (path, arch string, err error) {
	path = os.Getenv(BinaryVariable)
	if path == "" {
		path = machine.Find(machine.System{OS: "linux", Arch: runtime.GOARCH}, "")
	}
	if path == "" {
		return "", "", fmt.Errorf("this program is for %s and pods run linux: put a %s of the same version beside it, or set its path with %s", runtime.GOOS, machine.BinaryName(machine.System{OS: "linux", Arch: runtime.GOARCH}), BinaryVariable)
	}
	if arch, err = program.Alone(path); err != nil {
		return "", "", fmt.Errorf("this program cannot run in a pod: %w; set the path of one for linux with %s", err, BinaryVariable)
	}
	return path, arch, nil
}
