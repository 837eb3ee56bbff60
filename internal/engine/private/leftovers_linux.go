package private

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/process"
	"tare/internal/runid"
)

// Leftovers returns what private engines of dead runs have left on this machine: processes, control
// groups and directories. Their mounts and networks belong to their processes and end with them. All
// of it is root's, because only root can start an engine; what other users have of the same name
// is ignored. It does not find what this user cannot read.
func Leftovers(alive runid.Claims) ([]engine.Leftover, error) {
	paths, err := privatePaths()
	if err != nil {
		return nil, err
	}
	processes := initProcesses()
	for name := range processes {
		if _, found := paths[name]; !found {
			paths[name] = nil // it has nothing else
		}
	}
	var found []engine.Leftover
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		run, _, ok := strings.Cut(name, "-")
		if !ok || !runid.IsID(run) || alive.Hold(run, 0) {
			continue
		}
		remove := func(ctx context.Context) error { return removePrivate(ctx, name) }
		_, runs := processes[name]
		switch {
		case !isClaimed(name) && !runs:
			for _, path := range paths[name] {
				found = append(found, engine.Leftover{Run: run, What: kindOf(path) + path, Remove: remove, Unmarked: true})
			}
		case strings.HasSuffix(name, cpuGroupSuffix):
			found = append(found, engine.Leftover{Run: run, What: "control group " + lab.Prefix + name, Remove: remove})
		default:
			found = append(found, engine.Leftover{Run: run, What: "engine " + name, Remove: remove})
		}
	}
	return found, nil
}

// kindOf says what is at one of privatePaths.
func kindOf(path string) string {
	if strings.HasPrefix(path, privateBase) {
		return "directory "
	}
	return "control group "
}

// privatePaths returns the directories, control groups and marks that have the names of engines, by name.
func privatePaths() (map[string][]string, error) {
	paths := map[string][]string{}
	entries, err := os.ReadDir(privateBase)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("list private engines: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(privateBase, e.Name())
		if name, ok := strings.CutSuffix(e.Name(), markSuffix); ok && isClaimed(name) || isRoots(path) {
			paths[name] = append(paths[name], path)
		}
	}
	all, err := Hierarchies()
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		groups, err := filepath.Glob(filepath.Join(h, lab.Prefix+"*"))
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			if isRoots(g) {
				name := strings.TrimPrefix(filepath.Base(g), lab.Prefix)
				paths[name] = append(paths[name], g)
			}
		}
	}
	return paths, nil
}

// isRoots reports whether a directory is root's, without following a symbolic link.
func isRoots(dir string) bool {
	var st unix.Stat_t
	return unix.Lstat(dir, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Uid == 0
}

// initProcesses returns the first processes of engines by the names of the engines.
func initProcesses() map[string]int {
	found := map[string]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, dir := range dirs {
		name, ok := engineOf(dir)
		if !ok {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if owner, err := linuxnet.Owner(pid); err == nil && owner == 0 {
			found[name] = pid
		}
	}
	return found
}

// engineOf returns the engine's name from the command line of a process that runs Init.
func engineOf(proc string) (name string, ok bool) {
	line, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	if err != nil {
		return "", false // it has exited
	}
	args := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
	if len(args) < 6 || args[0] != "tare" || args[1] != InitCommand || args[2] != "--run" || args[4] != "--dir" {
		return "", false
	}
	return filepath.Base(args[5]), true
}

// removePrivate kills the processes of an engine and removes its remains, if it has a mark.
func removePrivate(ctx context.Context, name string) error {
	var errs []error
	if pid, ok := initProcesses()[name]; ok {
		errs = append(errs, endInit(ctx, name, pid))
	}
	if isClaimed(name) {
		errs = append(errs, RemoveClaimed(name))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove engine %s: %w", name, err)
	}
	return nil
}

// endInit kills an engine's first process, and thereby all of the engine's, and waits until they
// have exited.
func endInit(ctx context.Context, name string, pid int) error {
	// A pidfd ensures that the signal goes to the process that was checked.
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
	if err := process.KillPidfd(ctx, fd, endTimeout()); err != nil {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	return nil
}
