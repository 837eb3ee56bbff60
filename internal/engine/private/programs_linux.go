package private

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"tare/internal/engine"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/timelimit"
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
	output, err := i.ask(ctx, program, "--version")
	line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	if err != nil || line == "" {
		return "does not report its version (" + path + ")"
	}
	return line + " (" + path + ")"
}

// Describe returns what the programs of an engine report about themselves. A field is empty if its
// program is missing or does not tell.
func (i Installation) Describe(ctx context.Context) Description {
	d := Description{}
	d.Path, _ = i.lookup("dockerd")
	if text, err := i.ask(ctx, "dockerd", "--version"); err == nil {
		d.Version = versionIn(text)
	}
	if text, err := i.ask(ctx, "containerd", "--version"); err == nil {
		d.Containerd = versionIn(text)
	}
	if text, err := i.ask(ctx, "runc", "--version"); err == nil {
		d.Runc = versionIn(text)
	}
	if _, err := i.lookupRunsc(); err == nil {
		d.Runsc = cmp.Or(i.runscVersion(ctx), "unknown")
	}
	if text, err := i.ask(ctx, "dockerd", "--help"); err == nil {
		d.Firewalls = []string{study.FirewallIptables}
		if strings.Contains(text, firewallFlag) {
			d.Firewalls = append(d.Firewalls, study.FirewallNftables)
		}
	}
	if kit, err := i.rootlesskit(); err == nil {
		d.Rootless = true
		if text, err := output(ctx, kit, "--version"); err == nil {
			d.Rootlesskit = versionIn(text)
		}
	}
	if d.Released = i.Released; d.Released.IsZero() {
		d.Released = engine.ReleaseOf(d.Version, "")
	}
	return d
}

// ask runs a program of the engine and returns what it prints.
func (i Installation) ask(ctx context.Context, program string, args ...string) (string, error) {
	path, err := i.lookup(program)
	if err != nil {
		return "", err
	}
	return output(ctx, path, args...)
}

// output runs a program, which takes milliseconds, and returns what it prints.
func output(ctx context.Context, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timelimit.Scaled(5*time.Second))
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = timelimit.Scaled(time.Second)
	text, err := cmd.Output()
	return string(text), err
}

// debianPackage returns the package of Debian that has a program.
func debianPackage(program string) string {
	switch program {
	case "newuidmap", "newgidmap":
		return "uidmap"
	case "nsenter":
		return "util-linux"
	case "nft":
		return "nftables"
	case "pasta":
		return "passt"
	case "rootlessport":
		return "podman"
	}
	return program
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
	if c.Sandboxed() {
		if _, err := c.Installation.lookupRunsc(); err != nil {
			return err
		}
	}
	if c.Rootless != nil {
		return c.Rootless.missing(ctx, c.Installation)
	}
	return nil
}
