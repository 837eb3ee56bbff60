package engine

import (
	"cmp"
	"os"
	"strings"
)

// Local reports whether the engine that a target names, as Connect takes it, is on this
// machine, as far as the name tells.
func Local(target string) bool {
	if target == "docker" {
		target = cmp.Or(os.Getenv("DOCKER_HOST"), "unix://")
	}
	return strings.HasPrefix(target, "unix://")
}

// Daemons are the programs of an engine that carry or serve traffic, by the name that the
// kernel keeps, of 15 letters. The containers below are not named.
func Daemons() []string {
	return []string{"dockerd", "docker-proxy", "containerd", "containerd-shim", "rootlesskit", "rootlesskit-doc", "slirp4netns", "vpnkit"}
}
