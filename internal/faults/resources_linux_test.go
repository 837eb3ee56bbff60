//go:build linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/testns"
)

// smallDisk puts the run's directory on a small file system in memory.
func smallDisk(r *tested) error {
	return r.disk("tmpfs", "tmpfs", "size=64m")
}

// disk mounts a file system where the run's directory will be.
func (r *tested) disk(from, kind, options string) error {
	r.out = filepath.Join(r.home, "disk", "run")
	at := filepath.Dir(r.out)
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if from == kind {
		return mount(from, at, kind, 0, options)
	}
	return run("mount", "-o", options, from, at)
}

// fillDisk leaves no byte free.
func fillDisk(r *tested) error {
	path := filepath.Join(r.home, "disk", "filler")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r.undo = append(r.undo, func() error { return os.Remove(path) })
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		if _, err := f.Write(block); errors.Is(err, unix.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			return err
		}
	}
	return nil
}

// ownDisk puts the run's directory on a disk of its own, which becomes read-only at its first
// error.
func ownDisk(r *tested) error {
	image := filepath.Join(r.home, "image")
	f, err := os.Create(image)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(64<<20), f.Close()); err != nil {
		return err
	}
	if err := run("mkfs.ext4", "-q", image); err != nil {
		return err
	}
	return r.disk(image, "ext4", "loop,errors=remount-ro")
}

// breakDisk lets the kernel find an error on the disk: it is read-only from then on, for files
// that are open, too.
func breakDisk(r *tested) error {
	at := filepath.Join(r.home, "disk")
	out, err := exec.Command("findmnt", "-n", "-o", "SOURCE", at).Output()
	if err != nil {
		return err
	}
	device := filepath.Base(strings.TrimSpace(string(out)))
	r.undo = append(r.undo, func() error {
		image := filepath.Join(r.home, "image")
		if err := run("umount", at); err != nil {
			return err
		}
		// Exit code 1 means that errors were corrected.
		var exit *exec.ExitError
		if err := exec.Command("e2fsck", "-fy", image).Run(); errors.As(err, &exit) && exit.ExitCode() > 1 || err != nil && !errors.As(err, &exit) {
			return fmt.Errorf("repair the disk: %w", err)
		}
		return run("mount", "-o", "loop,errors=remount-ro", image, at)
	})
	return os.WriteFile(filepath.Join("/sys/fs/ext4", device, "trigger_fs_error"), []byte("fault"), 0o200)
}

// prlimit limits the open files of a process.
func prlimit(pid, most int) error {
	lim := unix.Rlimit{Cur: uint64(most), Max: uint64(most)}
	return tooLate(unix.Prlimit(pid, unix.RLIMIT_NOFILE, &lim, nil))
}

// controller is the directory of a controller of control groups.
func controller(name string) (dir string, version2 bool, err error) {
	all, err := testns.Hierarchies()
	if err != nil {
		return "", false, err
	}
	for _, h := range all {
		if h.Kind == "cgroup" && strings.Contains(","+h.Data+",", ","+name+",") {
			return h.At, false, nil
		}
	}
	for _, h := range all {
		if h.Kind == "cgroup2" {
			return h.At, true, nil
		}
	}
	return "", false, fmt.Errorf("there is no controller %s", name)
}

// pidsGroup moves the controller and what shares its group into a group of processes of their
// own.
func (r *tested) pidsGroup() (string, error) {
	root, _, err := controller("pids")
	if err != nil {
		return "", err
	}
	group := filepath.Join(root, "limited")
	if err := os.Mkdir(group, 0o755); err != nil {
		return "", err
	}
	r.undo = append(r.undo, func() error { return testns.RemoveGroup(group) })
	procs, err := os.ReadFile(filepath.Join(root, "cgroup.procs"))
	if err != nil {
		return "", err
	}
	for _, pid := range strings.Fields(string(procs)) {
		if n, _ := strconv.Atoi(pid); n == 1 || n == os.Getpid() {
			continue
		}
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(pid), 0o644); err != nil && !errors.Is(err, unix.ESRCH) {
			return "", err
		}
	}
	return group, nil
}

// hogName is what a program is called that takes the memory of a container.
const hogName = "hog"

// exhaustContainer takes the memory of a container away: something in it needs more than there
// is, and the kernel kills the rest of it.
func exhaustContainer(r *tested) error {
	p, err := r.one(isContainer)
	if err != nil {
		return err
	}
	root, version2, err := controller("memory")
	if err != nil {
		return err
	}
	group, err := groupOf(p.pid, version2)
	if err != nil {
		return errTooLate
	}
	group = filepath.Join(root, group)
	usage, limit := "memory.usage_in_bytes", "memory.limit_in_bytes"
	if version2 {
		usage, limit = "memory.current", "memory.max"
	}
	r.note("no memory in %s (%s)", group, strings.Join(p.args, " "))
	text, err := os.ReadFile(filepath.Join(group, usage))
	if err != nil {
		return errTooLate
	}
	used, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	const rest = 4 << 20
	if err := os.WriteFile(filepath.Join(group, limit), []byte(strconv.Itoa(used+rest)), 0o644); err != nil {
		return errTooLate
	}
	hog := exec.Command(program, group)
	hog.Args[0] = hogName
	if err := hog.Start(); err != nil {
		return err
	}
	defer func() {
		_ = hog.Process.Kill() // it may have ended
		_ = hog.Wait()
	}()
	killed := func() bool {
		for _, q := range processes() {
			if q.pid == p.pid {
				return false
			}
		}
		return true
	}
	for deadline := time.Now().Add(patience); !killed(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("the kernel has not killed process %d for its memory within %s", p.pid, patience)
		}
	}
	return nil
}

// groupOf is the control group of a process, of the memory controller or of version 2.
func groupOf(pid int, version2 bool) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && (version2 && f[0] == "0" || !version2 && f[1] == "memory") {
			return f[2], nil
		}
	}
	return "", fmt.Errorf("process %d has no control group of memory", pid)
}

// hogMain takes memory in a control group and is itself not killed for it.
func hogMain(args []string) int {
	for path, text := range map[string]string{"/proc/self/oom_score_adj": "-1000", filepath.Join(args[0], "cgroup.procs"): "0"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	const much = 256 << 20
	memory := make([]byte, much)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	return 0
}
