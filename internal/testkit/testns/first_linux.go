package testns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
)

// first sets up the machine that the tests see, runs them and waits for every process that
// loses its parent. The arguments are the patience with what the tests leave, an empty
// directory, the module's directory, the test program and its arguments.
func first(args []string) int {
	runtime.LockOSThread() // the namespace of control groups is the thread's
	patience, err := time.ParseDuration(args[0])
	dir, dirErr := os.Getwd()
	args = args[1:]
	if err = errors.Join(err, dirErr); err == nil {
		err = setUp(args[0], args[1], filepath.Dir(args[2]))
	}
	// The tests run a copy: a process whose parent runs the same program is taken for one that
	// has its controller, and orphans have this process as parent.
	copied := filepath.Join(Scratch, filepath.Base(args[2]))
	if err == nil {
		err = copyFile("/proc/self/exe", copied)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "cannot set up namespaces for the tests: %v\n", err)
		return 1
	}
	test, err := os.StartProcess(copied, args[2:], &os.ProcAttr{Dir: dir, Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := -1
	for code < 0 {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			fmt.Fprintf(os.Stderr, "wait for the tests: %v\n", err)
			return 1
		case err != nil || pid != test.Pid:
		case status.Signaled():
			fmt.Fprintf(os.Stderr, "the tests ended by signal %s\n", status.Signal())
			return 1
		case status.Exited():
			code = status.ExitStatus()
		}
	}
	if left := left(patience); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "the tests left behind:\n%s\n", strings.Join(left, "\n"))
		return max(code, 1)
	}
	return code
}

// left lists the processes and the named network namespaces that do not end by themselves.
func left(patience time.Duration) (all []string) {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		for { // none may wait to be read
			if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 && !errors.Is(err, unix.EINTR) {
				break
			}
		}
		names, err := linuxnet.Pinned("")
		all = names
		if err != nil {
			all = append(all, err.Error())
		}
		for _, dir := range processes() {
			line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
			if err == nil {
				all = append(all, "process "+strings.Join(strings.Split(strings.TrimRight(string(line), "\x00"), "\x00"), " "))
			}
		}
		if len(all) == 0 || time.Now().After(deadline) {
			return all
		}
	}
}

// processes lists the directories of all processes but the first and those of the kernel.
func processes() []string {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	return slices.DeleteFunc(dirs, func(dir string) bool { return filepath.Base(dir) == strconv.Itoa(os.Getpid()) })
}

// setUp replaces the root directory. base is an empty directory, which becomes the place of
// the changes, also of the machine's other file systems, such as that of /home. The directories of the module and of
// the test program, to which tests write their results, stay.
func setUp(base, module, results string) error {
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	groups, err := joinGroups(groupName(base))
	if err != nil {
		return err
	}
	mounts := []mounted{
		{"/dev", "/dev", "", unix.MS_BIND, ""},
		{"devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666"},
		{"tmpfs", "/dev/shm", "tmpfs", 0, ""},
		{"proc", "/proc", "proc", 0, ""},
		{"sysfs", "/sys", "sysfs", 0, ""},
		{"tmpfs", "/run", "tmpfs", 0, "mode=755"},
		{"tmpfs", "/tmp", "tmpfs", 0, "mode=1777"},
		{"tmpfs", "/var/tmp", "tmpfs", 0, "mode=1777"},
		{"tmpfs", "/var/lib", "tmpfs", 0, "mode=755"}, // the machine's has the engines of others
		{"tmpfs", Scratch, "tmpfs", 0, "mode=755"},
		{base + "/upper", Layer, "", unix.MS_BIND, ""},
	}
	var own []string
	for _, m := range mounts {
		own = append(own, m.to)
	}
	others, err := elsewhere(own)
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
	// These may be below one of the empty file systems.
	for _, dir := range []string{module, results} {
		if !slices.ContainsFunc(mounts, func(m mounted) bool { return m.to == dir }) {
			mounts = append(mounts, mounted{dir, dir, "", unix.MS_BIND, ""})
		}
	}
	if err := os.Mkdir(filepath.Join(root, "old"), 0o755); err != nil {
		return err
	}
	if err := show(others, root, filepath.Join(base, "others")); err != nil {
		return err
	}
	for _, m := range mounts {
		to := filepath.Join(root, m.to)
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
		return fmt.Errorf("unmount the machine's root: %w", err)
	}
	// The first name of a namespace makes the directory of names and mounts it, and nothing undoes
	// that: not tare, nor ip(8).
	for _, args := range [][]string{{"netns", "add", "first"}, {"netns", "delete", "first"}, {"link", "set", "lo", "up"}} {
		if out, err := exec.CommandContext(context.Background(), "ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// copyFile copies a program.
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
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// mounted is a file system and where it is mounted, as in mount(2).
type mounted struct {
	from, to, kind string
	flags          uintptr
	data           string
}

// mount is mount(2) with an error that names the place.
func mount(from, to, kind string, flags uintptr, data string) error {
	if err := unix.Mount(from, to, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s at %s (type %q, options %q): %w", from, to, kind, data, err)
	}
	return nil
}
