package engine

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/moby/moby/client"
)

// identify asks an engine what it is, and fills Versions. The first call also
// settles which version of the API is spoken.
func (e *Engine) identify(ctx context.Context) error {
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
