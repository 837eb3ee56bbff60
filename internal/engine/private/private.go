// Package private starts separate Docker Engines on the hosts of a lab, and ends them.
//
// Each has its own data, socket, mounts and processes. The root of its process tree is this program
// as the first process of a PID namespace. When the root exits, everything else ends with it and
// nothing remains.
package private

import (
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
	"sync"

	"tare/internal/engine"
	"tare/internal/lab"
)

// InitCommand is the hidden subcommand of the first process of a private engine; see Init.
const InitCommand = "engine-init"

// socketFile is the file name of an engine's API socket.
const socketFile = "docker.sock"

// privateBase has one directory and one mark per running private engine, named after its run, so that tare gc
// finds what a dead run has left.
const privateBase = "/var/lib/tare/engines"

// Engine is a private engine on a host of a lab. It uses that host's network. Its mounts, process
// ids, data and sockets are separate, so that it and the user's engine do not interfere. It ends
// with Close, and with this process however that exits.
type Engine struct {
	*engine.Engine
	Program   string // the executable of its dockerd or podman, as the kernel names it
	kind      string // what it is, for messages
	groups    string // what the names of its containers' groups begin with, before their ids
	Runsc     string // the program of its default runtime if that is gVisor's, else empty
	runc      string // the program that starts its containers, of an engine with Config.LiveRestore; else empty
	restarts  bool   // Restart can restart it
	host      string // of the lab
	dir       string // below privateBase
	cgroup    string // parent of the groups of all its containers, at the root of each hierarchy
	daemonPID int    // of a rootless engine's dockerd, on this machine
	rootless  bool   // it is of RootlessKit
	made      bool   // whether this engine created the directory and groups
	init      *initProcess
	close     sync.Once
	closed    error
}

// Dir returns the engine's directory on this machine; only root can read it.
func (p *Engine) Dir() string { return p.dir }

// Socket returns the path of the API socket of an engine that runs as root.
func (p *Engine) Socket() string { return filepath.Join(p.dir, socketFile) }

// Plugins returns the directory in which the engine looks for the sockets of plugins. It sees no
// other plugins.
func (p *Engine) Plugins() string { return filepath.Join(p.dir, "plugins") }

// CloseAll closes engines concurrently. It ignores nil.
func CloseAll(engines ...*Engine) error {
	errs := make([]error, len(engines))
	var wg sync.WaitGroup
	for i, p := range engines {
		if p != nil {
			wg.Go(func() { errs[i] = p.Close() })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// longestLabel keeps the socket's path within the 107 bytes of a Unix socket address.
const longestLabel = 40

// nameOf returns the name of an engine's directory: RUN-LABEL-HOST. A truncated label ends in a
// hash of the whole, so that two labels of one run differ.
func nameOf(spec lab.Spec, host string) string {
	label := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '.'
	}, strings.ToLower(spec.Label))
	if len(label) > longestLabel {
		sum := fnv.New32a()
		sum.Write([]byte(label))
		end := fmt.Sprintf(".%08x", sum.Sum32())
		label = label[:longestLabel-len(end)] + end
	}
	return strings.Join([]string{spec.Claim.ID, label, host}, "-")
}
