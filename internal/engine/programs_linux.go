package engine

import (
	"context"
	"os/exec"
	"strings"
	"time"

	"tare/internal/result"
)

// Programs lists what private engines are made of as it is installed here, each
// with the first line that it says of its version, and where it is.
func Programs(ctx context.Context) []result.Fact {
	var out []result.Fact
	for _, program := range []string{"dockerd", "containerd", "runc", "docker-proxy", "iptables"} {
		out = append(out, result.Fact{Name: program, Value: installed(ctx, program)})
	}
	return out
}

// installed is what a program says of its version. docker-proxy cannot say.
func installed(ctx context.Context, program string) string {
	path, err := lookup(program)
	if err != nil {
		return "not found"
	}
	if program == "docker-proxy" {
		return path
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	said, err := exec.CommandContext(ctx, path, "--version").Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	if err != nil || line == "" {
		return "does not say its version (" + path + ")"
	}
	return line + " (" + path + ")"
}
