package engine

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"tare/internal/result"
)

// Engine is a Docker Engine, or another program with its API, that has answered.
type Engine struct {
	Name     string // for people: a host of the lab, or the name that the user gave
	Versions Versions
	Machine  Machine
	// Address is where it was reached, such as unix:///var/run/docker.sock; empty if unknown.
	Address string
	// Binary is the tare to run in containers, if not the running program.
	Binary string
	api    *client.Client
	local  Local
	images images
}

// Local is access to an engine whose processes run on this machine. The zero Local is for an engine
// that may run anywhere.
type Local struct {
	// Proc is a directory with the /proc of the engine's process ids.
	Proc string
	// Gone returns why an engine that does not answer has exited, "" if it runs. It may wait
	// briefly for that. It is nil if this cannot be known.
	Gone func() string
	// Plugins are the directories in which the engine looks for plugins, as seen from this process.
	Plugins []string
}

// New returns an engine with the options of the API's client. It sends nothing; Ping and Negotiate
// do. An answer of more than 8 MiB, or of more than 100 000 JSON objects, is an error.
func New(name string, local Local, options ...client.Opt) (*Engine, error) {
	bounds, err := boundAnswers(options)
	if err != nil {
		return nil, err
	}
	api, err := client.New(slices.Concat(options, bounds)...)
	if err != nil {
		return nil, err
	}
	return &Engine{Name: name, api: api, local: local}, nil
}

// MinAPI is the oldest supported version of the Engine API: Docker 19.03.
const MinAPI = "1.40"

// Ping checks that the engine answers, and negotiates the version of the API.
func (e *Engine) Ping(ctx context.Context) error {
	_, err := e.ping(ctx)
	return err
}

// ping returns the version of the API that the engine reports, "" if none.
func (e *Engine) ping(ctx context.Context) (version string, err error) {
	pong, err := e.api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
	return pong.APIVersion, err
}

// Negotiate agrees on a version of the API with whatever answers, and identifies it.
func (e *Engine) Negotiate(ctx context.Context) error {
	version, err := e.ping(ctx)
	if err != nil {
		return err
	}
	if version == "" {
		return fmt.Errorf("the server reports no version of the Engine API: %w", errdefs.ErrNotFound)
	}
	// A version that the environment sets is not negotiated.
	if v := e.api.ClientVersion(); versions.LessThan(v, MinAPI) {
		return fmt.Errorf("DOCKER_API_VERSION sets %s, but the minimum supported API version is %s", v, MinAPI)
	}
	return e.Identify(ctx)
}

// Disconnect closes the connections to the engine. Objects on the engine stay.
func (e *Engine) Disconnect() error { return e.api.Close() }

// ended reports whether err comes from an engine that has exited, so that nothing is left on it to
// remove.
func (e *Engine) ended(err error) bool {
	return isUnreachable(err) && e.local.Gone != nil && e.local.Gone() != ""
}

// Versions is what an engine reports about itself.
type Versions struct {
	Engine, API, Containerd, Runc string
	Firewall                      string    // backend of its rules; engines before 29 do not report it
	Released                      time.Time // see ReleaseOf; zero if unknown
	Rootless                      bool      // it runs as an ordinary user
	OS, Arch, Kernel              string    // Arch in Go's notation
}

// Machine is what an engine reports about the machine that it runs on. What it does not report is
// empty or 0.
type Machine struct {
	Name   string // its host name
	System string // its distribution, or the product that runs it, such as Docker Desktop
	Memory uint64 // bytes
}

// Facts returns the known versions for a result.
func (v Versions) Facts() []result.Fact {
	var out []result.Fact
	for _, f := range []result.Fact{
		result.Deciding(result.FactEngine, v.Engine), {Name: "api", Value: v.API}, result.Deciding("containerd", v.Containerd),
		result.Deciding("runc", v.Runc), {Name: result.FactEngineReleased, Value: v.released()}, result.Deciding("firewall backend", v.Firewall), {Name: "os", Value: v.OS}, {Name: "arch", Value: v.Arch}, result.Deciding("kernel", v.Kernel),
	} {
		if f.Value != "" {
			out = append(out, f)
		}
	}
	return out
}

// The labels of all objects that a run creates on an engine. LabelRun has the run's id, by which
// tare gc finds what a dead run has left.
const (
	LabelRun  = "io.tare.run"
	LabelPart = "io.tare.part" // role in the run: client, server, network, image
	// LabelMachine is the machine whose tare gc may decide whether the run is dead: several
	// machines may use the same engine.
	LabelMachine = "io.tare.machine"
	// LabelUser is the number of the user on that machine whose run it is.
	LabelUser = "io.tare.user"
)

// Identify asks the engine for its versions and sets Versions. The first call also negotiates the
// version of the API.
func (e *Engine) Identify(ctx context.Context) error {
	v, err := e.api.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return e.fail(err, "ask for its version")
	}
	e.Binary = os.Getenv(BinaryVariable)
	e.Versions = Versions{Engine: v.Version, API: e.api.ClientVersion(), OS: v.Os, Arch: goArch(v.Arch)}
	if v.Platform.Name != "" && !strings.HasPrefix(v.Platform.Name, "Docker") {
		e.Versions.Engine = fmt.Sprintf("%s (%s)", v.Version, v.Platform.Name)
	}
	for _, c := range v.Components {
		switch strings.ToLower(c.Name) {
		case "containerd":
			e.Versions.Containerd = c.Version
		case "runc", "crun", "oci runtime":
			e.Versions.Runc = c.Version
		case "engine", "podman engine":
			if k := c.Details["KernelVersion"]; k != "" {
				e.Versions.Kernel = k
			}
			e.Versions.Released = ReleaseOf(v.Version, c.Details["BuildTime"])
		}
	}
	i, err := e.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return e.fail(err, "ask what it runs on")
	}
	if e.Versions.Kernel == "" {
		e.Versions.Kernel = i.Info.KernelVersion
	}
	e.Versions.Rootless = slices.Contains(i.Info.SecurityOptions, "name=rootless")
	if i.Info.FirewallBackend != nil {
		e.Versions.Firewall = i.Info.FirewallBackend.Driver
	}
	e.Machine = Machine{Name: i.Info.Name, System: i.Info.OperatingSystem, Memory: uint64(max(0, i.Info.MemTotal))}
	return nil
}

// goArch returns Go's name of an architecture that an engine reports as Go or uname(2) names it.
func goArch(name string) string {
	switch name {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "armv7l", "armv6l", "armhf":
		return "arm"
	case "i386", "i686":
		return "386"
	case "loongarch64":
		return "loong64"
	}
	return name
}

// Daemons returns the names of engine programs that forward or serve traffic, as the kernel
// truncates them to 15 characters. Programs in containers are not included.
func Daemons() []string {
	return []string{"dockerd", "docker-proxy", "containerd", "containerd-shim", "rootlesskit", "rootlesskit-doc", "slirp4netns", "vpnkit",
		"podman", "conmon", "rootlessport", "rootlessport-ch", "pasta", "pasta.avx2", "passt", "passt.avx2"}
}
