// Package private starts Docker Engines of our own on the hosts of a lab, and ends them.
//
// Each has its own data, socket, mounts and processes: a tree of processes with one root,
// which is this program as the first process of a namespace. With the root all of it is
// gone without a trace.
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

// InitCommand is the hidden subcommand under which this program is the first
// process of a private engine; see Init.
const InitCommand = "engine-init"

// privateBase holds a directory for each private engine that runs, named after its
// run, so that tare gc finds what a dead run has left.
const privateBase = "/var/lib/tare/engines"

// Engine is an engine of our own on a host of a lab. It has that host's network,
// and file system mounts, process ids, data and sockets of its own, so that it and
// the user's engine do not meet. It ends with Close, and with this process
// however that dies.
type Engine struct {
	*engine.Engine
	host   string // of the lab
	dir    string // below privateBase
	cgroup string // under which all its containers are, at the root of each hierarchy
	made   bool   // whether directory and groups are this engine's
	init   *initProcess
	close  sync.Once
	closed error
}

// Dir is the engine's directory on this machine; only root can look into it.
func (p *Engine) Dir() string { return p.dir }

// Socket is the path of the socket on which the engine answers.
func (p *Engine) Socket() string { return filepath.Join(p.dir, "docker.sock") }

// Plugins is the directory in which the engine looks for the sockets of plugins,
// and sees none but those that are put there.
func (p *Engine) Plugins() string { return filepath.Join(p.dir, "plugins") }

// CloseAll closes engines side by side. Those that are nil are left out.
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

// longestLabel keeps the socket's path within what a Unix address holds, which is
// 107 bytes.
const longestLabel = 40

// nameOf names an engine's directory: RUN-LABEL-HOST. A label that is cut ends in a
// hash of the whole, so that two of one run differ.
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
