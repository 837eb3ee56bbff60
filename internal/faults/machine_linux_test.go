//go:build linux

package faults

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/driver/drivertest"
	"tare/internal/linuxnet"
)

// The tests of this package run on a machine of their own: namespaces of processes, mounts,
// networks and control groups, over a root directory whose changes go to memory. What other
// programs do on the real machine then changes no snapshot, whatever a run leaves is seen,
// and no fault reaches the real machine.
const (
	machineName = "machine-of-faults" // name of its first process
	machineVar  = "TARE_FAULTS_MACHINE"
	layerDir    = "/layer" // there: the files that differ from the real machine's
	program     = "/opt/tare"
	scratch     = "/scratch" // files of the tests, which no snapshot lists
)

// onMachine reports whether the test runs on its own machine. If not, it runs the test of
// this name there.
func onMachine(t *testing.T) bool {
	t.Helper()
	if os.Getenv(machineVar) != "" {
		return true
	}
	if testing.Short() {
		t.Skip("real runs are left out of the short tests")
	}
	if !linuxnet.RealRoot() {
		t.Skip("a machine for faults needs root, for its namespaces and mounts")
	}
	base, repository := t.TempDir(), drivertest.Root(t)
	args := []string{base, repository}
	for _, a := range os.Args[1:] {
		if !strings.HasPrefix(a, "-test.run=") && !strings.HasPrefix(a, "-test.v") && !strings.HasPrefix(a, "-test.paniconexit0") {
			args = append(args, a)
		}
	}
	cmd := exec.Command("/proc/self/exe", append(args, "-test.v", "-test.run=^"+t.Name()+"$")...)
	cmd.Args[0] = machineName
	cmd.Env = append(os.Environ(), machineVar+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	runtime.LockOSThread() // the machine ends with the thread that started it
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- cmd.Wait()
		in.Close()
	}()
	skipped := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Println(lines.Text())
		if _, why, ok := strings.Cut(lines.Text(), "SKIP: "); ok {
			skipped = why
		}
	}
	err := <-done
	removeGroups(t, groupName(base))
	switch {
	case err != nil:
		t.Errorf("on its own machine: %v", err)
	case skipped != "":
		t.Skip(skipped)
	}
	return false
}

// groupName is the name of the control groups of a machine.
func groupName(base string) string { return "faults" + strings.ReplaceAll(base, "/", "-") }

// machineMain is the first process of the machine: it sets up the machine, runs the test and
// waits for every process that loses its parent.
func machineMain(args []string) int {
	runtime.LockOSThread() // the namespace of control groups is the thread's
	if err := setUpMachine(args[0], args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "cannot set up a machine for the test: %v\n", err)
		return 1
	}
	test, err := os.StartProcess(filepath.Join(program, "tare"), append([]string{"faults.test"}, args[2:]...), &os.ProcAttr{
		Dir: filepath.Join(args[1], "internal/faults"), Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			fmt.Fprintf(os.Stderr, "wait for the test: %v\n", err)
			return 1
		}
		if pid == test.Pid && (status.Exited() || status.Signaled()) {
			if status.Signaled() {
				fmt.Fprintf(os.Stderr, "the test ended by signal %s\n", status.Signal())
				return 1
			}
			return status.ExitStatus()
		}
	}
}

// setUpMachine replaces the root directory. base is an empty directory, which becomes the
// place of the changes; repository stays visible.
func setUpMachine(base, repository string) error {
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	groups, err := joinGroups(groupName(base))
	if err != nil {
		return err
	}
	if err := mount("tmpfs", base, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	root := filepath.Join(base, "root")
	for _, dir := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			return err
		}
	}
	if err := mount("overlay", root, "overlay", 0, fmt.Sprintf("lowerdir=/,upperdir=%s/upper,workdir=%s/work", base, base)); err != nil {
		return err
	}
	for _, dir := range []string{layerDir, scratch, program, "/old"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	if err := copyFile("/proc/self/exe", filepath.Join(root, program, "tare")); err != nil {
		return err
	}
	for _, m := range []struct {
		from, to, kind string
		flags          uintptr
		data           string
	}{
		{"/dev", "/dev", "", unix.MS_BIND, ""},
		{"devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666"},
		{"tmpfs", "/dev/shm", "tmpfs", 0, ""},
		{"proc", "/proc", "proc", 0, ""},
		{"sysfs", "/sys", "sysfs", 0, ""},
		{"tmpfs", "/run", "tmpfs", 0, "mode=755"},
		{"tmpfs", "/tmp", "tmpfs", 0, "mode=1777"},
		{"tmpfs", "/var/tmp", "tmpfs", 0, "mode=1777"},
		{"tmpfs", "/var/lib", "tmpfs", 0, "mode=755"}, // the real one has the engines of others
		{"tmpfs", scratch, "tmpfs", 0, "mode=755"},
		{base + "/upper", layerDir, "", unix.MS_BIND, ""},
		{repository, repository, "", unix.MS_BIND, ""},
	} {
		to := filepath.Join(root, m.to)
		// The repository may be below one of the empty file systems.
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := mount(m.from, to, m.kind, m.flags, m.data); err != nil {
			return err
		}
	}
	for _, g := range groups {
		if err := g.mount(root); err != nil {
			return err
		}
	}
	if err := unix.PivotRoot(root, filepath.Join(root, "old")); err != nil {
		return fmt.Errorf("pivot_root to %s: %w", root, err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Unmount("/old", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the real root: %w", err)
	}
	// The first name of a namespace makes the directory of names and mounts it, and nothing undoes
	// that: not tare, nor ip(8).
	for _, verb := range []string{"add", "delete"} {
		if err := run("ip", "netns", verb, "first"); err != nil {
			return err
		}
	}
	return run("ip", "link", "set", "lo", "up")
}

// mount is mount(2) with an error that names the place.
func mount(from, to, kind string, flags uintptr, data string) error {
	if err := unix.Mount(from, to, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s at %s (type %q, options %q): %w", from, to, kind, data, err)
	}
	return nil
}

// hierarchy is a mounted hierarchy of control groups.
type hierarchy struct{ at, kind, data string }

// hierarchies lists those of this machine.
func hierarchies() ([]hierarchy, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var found []hierarchy
	for line := range strings.Lines(string(text)) {
		mounted, super, ok := strings.Cut(strings.TrimSpace(line), " - ")
		at, options := strings.Fields(mounted), strings.Fields(super)
		if !ok || len(at) < 5 || len(options) < 3 || !strings.HasPrefix(options[0], "cgroup") {
			continue
		}
		h := hierarchy{at: at[4], kind: options[0]}
		if h.kind == "cgroup" {
			h.data = strings.TrimPrefix(options[2], "rw,")
			if strings.HasPrefix(h.data, "name=") {
				h.data = "none," + h.data
			}
		}
		found = append(found, h)
	}
	return found, nil
}

// joinGroups moves this process into a new group of every hierarchy, and into a namespace in
// which these groups are the roots.
func joinGroups(name string) ([]hierarchy, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		dir := filepath.Join(h.at, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
		// A new group of this controller has no CPUs and no memory at first.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if own, err := os.ReadFile(filepath.Join(h.at, file)); err == nil {
				if err := os.WriteFile(filepath.Join(dir, file), own, 0o644); err != nil {
					return nil, err
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0o644); err != nil {
			return nil, err
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return nil, fmt.Errorf("make a namespace of control groups: %w", err)
	}
	return all, nil
}

// mount mounts the hierarchy below a new root directory, at the same place.
func (h hierarchy) mount(root string) error {
	at := filepath.Join(root, h.at)
	if _, err := os.Stat(at); err != nil {
		// Version 1 has its mounts in a directory in memory.
		if parent := filepath.Dir(at); filepath.Base(parent) == "cgroup" {
			if _, err := os.Stat(filepath.Join(parent, ".made")); err != nil {
				if err := mount("tmpfs", parent, "tmpfs", 0, "mode=755"); err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(parent, ".made"), nil, 0o444); err != nil {
					return err
				}
			}
		}
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
	}
	return mount(h.kind, at, h.kind, 0, h.data)
}

// removeGroups removes the machine's control groups. All its processes have ended.
func removeGroups(t *testing.T, name string) {
	t.Helper()
	all, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		var dirs []string
		top := filepath.Join(h.at, name)
		if err := filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		for i := len(dirs) - 1; i >= 0; i-- {
			if err := removeGroup(dirs[i]); err != nil {
				t.Error(err)
			}
		}
	}
}

// removeGroup removes an empty group. Its processes are gone, but the kernel may still be
// about to notice.
func removeGroup(dir string) (err error) {
	for range 100 {
		if err = unix.Rmdir(dir); !errors.Is(err, unix.EBUSY) {
			break
		}
		pause()
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove the control group %s: %w", dir, err)
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	return out.Close()
}

// run runs a program to its end, and gives its output with an error.
func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
