package private

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/study"
)

// Programs returns the programs of the packaged engine, each with the first line of its version
// output and its path.
func Programs(ctx context.Context) []result.Fact { return Packaged().Programs(ctx) }

// Programs returns the programs of an engine, each with the first line of its version output and
// its path.
func (i Installation) Programs(ctx context.Context) []result.Fact {
	var out []result.Fact
	for _, program := range []string{"dockerd", "containerd", "runc", "docker-proxy", "iptables"} {
		out = append(out, result.Fact{Name: program, Value: i.installed(ctx, program)})
	}
	return out
}

// installed returns what a program reports as its version. docker-proxy reports none.
func (i Installation) installed(ctx context.Context, program string) string {
	path, err := i.lookup(program)
	if err != nil {
		return "not found"
	}
	if program == "docker-proxy" {
		return path
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	output, err := cmd.Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	if err != nil || line == "" {
		return "does not report its version (" + path + ")"
	}
	return line + " (" + path + ")"
}

// MissingRequirements returns what this machine lacks for private engines and how to fix it; nil if
// nothing is missing.
func MissingRequirements(ctx context.Context) error {
	return Config{Installation: Packaged()}.MissingRequirements(ctx)
}

// MissingRequirements returns what this machine lacks for engines of this configuration and how to
// fix it; nil if nothing is missing.
func (c Config) MissingRequirements(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !linuxnet.RealRoot() {
		return errors.New("a Docker Engine on a host of the lab needs root; run tare as root")
	}
	needed := []string{"dockerd", "containerd", "runc"}
	if c.Firewall == study.FirewallNftables {
		needed = append(needed, "nft")
	} else {
		needed = append(needed, "iptables")
	}
	var missing []string
	for _, program := range needed {
		if _, err := c.Installation.lookup(program); err != nil {
			missing = append(missing, program)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("a Docker Engine on a host of the lab needs %s, which cannot be found in %s; install Docker Engine (Debian: apt-get install docker.io iptables nftables)",
			strings.Join(missing, ", "), c.Installation.searchPath())
	}
	return nil
}
