package engine

import (
	"github.com/moby/moby/client"

	"tare/internal/result"
)

// Engine is a Docker Engine, or what speaks its API, that has answered.
type Engine struct {
	Name     string // for people: a lab's host, or what the user calls it
	Versions Versions
	// Binary is the tare that containers run, where it is not the running program.
	Binary string
	api    *client.Client
	// proc is where the /proc is seen in which the engine's process ids count;
	// empty where it cannot be seen from here, as on another machine.
	proc string
	// gone says, once the engine does not answer, why it is no longer there, "" if it
	// is. It may wait a moment for that. It is nil where nothing can be known.
	gone func() string
	// plugins are the directories in which the engine looks for plugins, as seen from
	// here; none where they cannot be seen.
	plugins []string
	images  images
}

// ended reports whether err came of an engine that is known to have ended, and with
// it everything that was on it: there is nothing left to remove.
func (e *Engine) ended(err error) bool { return unanswered(err) && e.gone != nil && e.gone() != "" }

// Versions is what an engine says of itself.
type Versions struct {
	Engine, API, Containerd, Runc string
	OS, Arch, Kernel              string // Arch as Go names it
}

// Facts lists the versions for a result, leaving out what is unknown.
func (v Versions) Facts() []result.Fact {
	var out []result.Fact
	for _, f := range []result.Fact{
		{Name: "engine", Value: v.Engine}, {Name: "api", Value: v.API}, {Name: "containerd", Value: v.Containerd},
		{Name: "runc", Value: v.Runc}, {Name: "os", Value: v.OS}, {Name: "arch", Value: v.Arch}, {Name: "kernel", Value: v.Kernel},
	} {
		if f.Value != "" {
			out = append(out, f)
		}
	}
	return out
}

// The labels of everything that is made on an engine. LabelRun holds the run's id,
// by which tare gc finds what a dead run has left.
const (
	LabelRun  = "io.tare.run"
	LabelPart = "io.tare.part" // what it is to the run: client, server, network, image
	// LabelMachine tells whose gc may decide whether the run is dead: an engine may
	// have guests from several machines.
	LabelMachine = "io.tare.machine"
)
