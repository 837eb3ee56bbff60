package private

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tare/internal/study"
)

// runsc is the program of gVisor. Its platform is systrap, the default since 2023, which needs no
// virtualization.
const runsc = "runsc"

// sentryProgram is the part of runsc that a sandbox runs, relative to the directory of runsc. An
// installation without it runs runsc itself.
const sentryProgram = "gvisor-bin/gvisor_sentry"

// Sandboxed reports whether the engine's containers run in a sandbox of gVisor.
func (c Config) Sandboxed() bool { return c.Runtime != "" && c.Runtime != study.RuntimeRunc }

// daemonConfig returns the configuration file of the engine. Engines from 29 on keep images in
// containerd's store by default, which compresses the image of this program when it is loaded: that
// takes a second, and the network of a container does not depend on it. Older engines ignore the
// feature.
func (c Config) daemonConfig() ([]byte, error) {
	type runtime struct {
		Path string   `json:"path"`
		Args []string `json:"runtimeArgs,omitempty"`
	}
	file := struct {
		Features map[string]bool    `json:"features"`
		Default  string             `json:"default-runtime,omitempty"`
		Runtimes map[string]runtime `json:"runtimes,omitempty"`
	}{Features: map[string]bool{"containerd-snapshotter": false}}
	if c.Sandboxed() {
		path, err := c.Installation.lookupRunsc()
		if err != nil {
			return nil, err
		}
		r := runtime{Path: path}
		if c.Runtime == study.RuntimeRunscHostnet {
			r.Args = []string{"--network=host"}
		}
		file.Default, file.Runtimes = c.Runtime, map[string]runtime{c.Runtime: r}
	}
	return json.Marshal(file)
}

// lookupRunsc finds gVisor's runtime: beside the engine's programs, in PATH, or in the cache. It
// returns its real path.
func (i Installation) lookupRunsc() (string, error) {
	dirs := filepath.SplitList(i.searchPath())
	for _, cached := range Cached() {
		if !slices.Contains(dirs, cached.Dir) {
			dirs = append(dirs, cached.Dir)
		}
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, runsc)
		if !executable(path) {
			continue
		}
		path, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", err
		}
		// The engine writes a path with arguments into a shell script, without quotes.
		if !regexp.MustCompile(`^[A-Za-z0-9/._+-]+$`).MatchString(path) {
			return "", fmt.Errorf("use %s as a runtime: an engine cannot start a path with such characters; put it elsewhere", path)
		}
		return path, nil
	}
	return "", fmt.Errorf("the runtime runsc of gVisor cannot be found in %s; install it (https://gvisor.dev/docs/user_guide/install), or build it with scripts/setup-engines of tare's source",
		strings.Join(dirs, string(filepath.ListSeparator)))
}

// RuntimeVersion returns the runtime of the engine's containers with the version and the path of its
// program, as far as they are known.
func (c Config) RuntimeVersion(ctx context.Context) string {
	path, err := c.Installation.lookupRunsc()
	if err != nil || !c.Sandboxed() {
		return c.Runtime
	}
	return strings.TrimSpace(c.Runtime+" "+c.Installation.runscVersion(ctx)) + " (" + path + ")"
}

// runscVersion returns the version that runsc reports, "" if it does not, or there is none.
func (i Installation) runscVersion(ctx context.Context) string {
	path, err := i.lookupRunsc()
	if err != nil {
		return ""
	}
	text, err := output(ctx, path, "--version")
	if err != nil {
		return ""
	}
	return runscVersionIn(text)
}

// runscVersionIn returns the version in what runsc prints for --version: "runsc version" and
// release-20250407.0 from gVisor, 20260905-160fafc42237 from scripts/setup-engines.
func runscVersionIn(text string) string { return versionIn(strings.Replace(text, "release-", "", 1)) }

// Sentry reports whether a process of this machine runs the program of the engine's sandboxes.
func (p *Engine) Sentry(pid int) (bool, error) {
	exe, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false, fmt.Errorf("find the program of process %d: %w", pid, err)
	}
	for _, path := range []string{p.Runsc, filepath.Join(filepath.Dir(p.Runsc), sentryProgram)} {
		if program, err := os.Stat(path); err == nil && os.SameFile(exe, program) {
			return true, nil
		}
	}
	return false, nil
}
