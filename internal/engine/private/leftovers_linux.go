package private

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/runid"
)

// Leftovers finds what private engines of runs other than those alive have
// left on this machine: their processes, control groups and directories. Their
// mounts and networks are their processes' own and go with those. What this user
// may not see it does not find.
func Leftovers(alive []string) ([]engine.Leftover, error) {
	names, err := privateNames()
	if err != nil {
		return nil, err
	}
	var found []engine.Leftover
	for _, name := range names {
		run, _, _ := strings.Cut(name, "-")
		if slices.Contains(alive, run) {
			continue
		}
		what := "Docker Engine " + name
		if strings.HasSuffix(name, cpuGroupSuffix) {
			what = "control group " + lab.Prefix + name
		}
		found = append(found, engine.Leftover{Run: run, What: what, Remove: func(ctx context.Context) error { return removePrivate(ctx, name) }})
	}
	return found, nil
}

// privateNames lists engines by what there is of them, sorted.
func privateNames() ([]string, error) {
	var names []string
	entries, err := os.ReadDir(privateBase)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("list private engines: %w", err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		groups, err := filepath.Glob(filepath.Join(h, lab.Prefix+"*"))
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			names = append(names, strings.TrimPrefix(filepath.Base(g), lab.Prefix))
		}
	}
	for name := range initProcesses() {
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(name string) bool {
		run, _, ok := strings.Cut(name, "-")
		return !ok || !runid.IsID(run)
	}), nil
}

// initProcesses finds the first processes of engines, by the engines' names.
func initProcesses() map[string]int {
	found := map[string]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	for _, dir := range dirs {
		if name, ok := engineOf(dir); ok {
			found[name], _ = strconv.Atoi(filepath.Base(dir))
		}
	}
	return found
}

// engineOf reads a process's command line as Init's, and gives its engine's name.
func engineOf(proc string) (name string, ok bool) {
	line, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	if err != nil {
		return "", false // it ended meanwhile
	}
	args := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
	if len(args) < 6 || args[0] != "tare" || args[1] != InitCommand || args[2] != "--run" || args[4] != "--dir" {
		return "", false
	}
	return filepath.Base(args[5]), true
}

// removePrivate ends what is left of an engine and removes it.
func removePrivate(ctx context.Context, name string) error {
	var errs []error
	if pid, ok := initProcesses()[name]; ok {
		errs = append(errs, endInit(ctx, name, pid))
	}
	errs = append(errs, removeCgroups(lab.Prefix+name), removeDir(filepath.Join(privateBase, name)))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove Docker Engine %s: %w", name, err)
	}
	return nil
}

// endInit kills an engine's first process, and with it all of the engine's, and
// waits until they have ended.
func endInit(ctx context.Context, name string, pid int) error {
	// A pidfd makes sure that the signal meets the process that was looked at.
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if is, ok := engineOf(filepath.Join("/proc", strconv.Itoa(pid))); !ok || is != name {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, endTimeout, fmt.Errorf("process %d was killed and has not ended within %v", pid, endTimeout))
	defer cancel()
	const look = 50 // milliseconds between looks at ctx
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, look)
		switch {
		case n > 0:
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait for process %d: %w", pid, err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}
