package engine

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"tare/internal/result"
)

// Engine is a Docker Engine, or what speaks its API, that has answered.
type Engine struct {
	Name     string // for people: a lab's host, or what the user calls it
	Versions Versions
	// Binary is the tare that containers run, where it is not the running program.
	Binary string
	api    *client.Client
	local  Local
	images images
}

// Local is what can be seen of an engine whose processes run on this machine; the zero
// Local of one that may run anywhere.
type Local struct {
	// Proc is where the /proc is seen in which the engine's process ids count.
	Proc string
	// Gone says, once the engine does not answer, why it is no longer there, "" if it
	// is. It may wait a moment for that. It is nil where nothing can be known.
	Gone func() string
	// Plugins are the directories in which the engine looks for plugins, as seen from
	// here.
	Plugins []string
}

// New is an engine that the options of the API's client lead to. Nothing is sent to it
// before Ping or Greet.
func New(name string, local Local, options ...client.Opt) (*Engine, error) {
	api, err := client.New(options...)
	if err != nil {
		return nil, err
	}
	return &Engine{Name: name, api: api, local: local}, nil
}

// MinAPI is the oldest version of the Engine API that is spoken: Docker 19.03.
const MinAPI = "1.40"

// Ping asks the engine whether it is there, and agrees with it on a version of the API.
func (e *Engine) Ping(ctx context.Context) error {
	_, err := e.ping(ctx)
	return err
}

// ping returns the version of the API that the engine names, "" if it names none.
func (e *Engine) ping(ctx context.Context) (version string, err error) {
	pong, err := e.api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
	return pong.APIVersion, err
}

// Negotiate agrees with whatever answers on a version of the API that both speak, and asks
// what it is.
func (e *Engine) Negotiate(ctx context.Context) error {
	version, err := e.ping(ctx)
	if err != nil {
		return err
	}
	if version == "" {
		return fmt.Errorf("what answers names no version of the Engine API: %w", errdefs.ErrNotFound)
	}
	// A version that the environment fixes is not negotiated.
	if v := e.api.ClientVersion(); versions.LessThan(v, MinAPI) {
		return fmt.Errorf("DOCKER_API_VERSION asks for %s, and the minimum supported API version is %s", v, MinAPI)
	}
	return e.Identify(ctx)
}

// Disconnect lets go of the connections to the engine. What was made on it stays.
func (e *Engine) Disconnect() error { return e.api.Close() }

// ended reports whether err came of an engine that is known to have ended, and with
// it everything that was on it: there is nothing left to remove.
func (e *Engine) ended(err error) bool {
	return isUnreachable(err) && e.local.Gone != nil && e.local.Gone() != ""
}

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

// Identify asks an engine what it is, and fills Versions. The first call also
// settles which version of the API is spoken.
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
		}
	}
	i, err := e.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return e.fail(err, "ask what it runs on")
	}
	if e.Versions.Kernel == "" {
		e.Versions.Kernel = i.Info.KernelVersion
	}
	return nil
}

// goArch is Go's name of an architecture that an engine names as Go or as uname(2)
// does.
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

// Daemons are the programs of an engine that carry or serve traffic, by the name that the
// kernel keeps, of 15 letters. The containers below are not named.
func Daemons() []string {
	return []string{"dockerd", "docker-proxy", "containerd", "containerd-shim", "rootlesskit", "rootlesskit-doc", "slirp4netns", "vpnkit"}
}
