package private

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/linuxnet"
	"tare/internal/result"
)

// Programs returns the installed programs of private engines, each with the first line of its
// version output and its path.
func Programs(ctx context.Context) []result.Fact {
	var out []result.Fact
	for _, program := range []string{"dockerd", "containerd", "runc", "docker-proxy", "iptables"} {
		out = append(out, result.Fact{Name: program, Value: installed(ctx, program)})
	}
	return out
}

// installed returns what a program reports as its version. docker-proxy reports none.
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
	output, err := exec.CommandContext(ctx, path, "--version").Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	if err != nil || line == "" {
		return "does not report its version (" + path + ")"
	}
	return line + " (" + path + ")"
}

// MissingRequirements returns what this machine lacks for private engines and how to fix it; nil if
// nothing is missing.
func MissingRequirements(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !linuxnet.RealRoot() {
		return errors.New("a Docker Engine on a host of the lab needs root; run tare as root")
	}
	var missing []string
	for _, program := range []string{"dockerd", "containerd", "runc", "iptables"} {
		if _, err := lookup(program); err != nil {
			missing = append(missing, program)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("a Docker Engine on a host of the lab needs %s, which cannot be found in %s; install Docker Engine (Debian: apt-get install docker.io iptables)",
			strings.Join(missing, ", "), searchPath())
	}
	return nil
}

// searchPath returns the directories of an engine's programs: the user's path and the
// administrator's.
func searchPath() string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	for _, d := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		if !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	// A relative path would be a different one where dockerd runs.
	dirs = slices.DeleteFunc(dirs, func(d string) bool { return !filepath.IsAbs(d) })
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// lookup finds a program in that path.
func lookup(program string) (string, error) {
	for _, dir := range filepath.SplitList(searchPath()) {
		path := filepath.Join(dir, program)
		if s, err := os.Stat(path); err == nil && s.Mode().IsRegular() && s.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("find %s in %s: %w", program, searchPath(), fs.ErrNotExist)
}
