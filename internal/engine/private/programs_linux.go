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

// MissingRequirements says what keeps this machine from having private engines, and what mends
// it; nil where nothing does.
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

// searchPath is where an engine's programs are looked for: where the user's are,
// and where an administrator's are.
func searchPath() string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	for _, d := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		if !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	// What is not an absolute path would be another one where dockerd runs.
	dirs = slices.DeleteFunc(dirs, func(d string) bool { return !filepath.IsAbs(d) })
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// lookup finds a program on that path.
func lookup(program string) (string, error) {
	for _, dir := range filepath.SplitList(searchPath()) {
		path := filepath.Join(dir, program)
		if s, err := os.Stat(path); err == nil && s.Mode().IsRegular() && s.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("find %s in %s: %w", program, searchPath(), fs.ErrNotExist)
}
