package testns

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
	"tare/internal/timelimit"
)

const (
	firstName = "testns-first" // name of the first process
	variable  = "TARE_TESTNS"  // set in the namespaces
)

// Inside reports whether this process is in such namespaces.
func Inside() bool { return os.Getenv(variable) != "" }

// First is the first process of the namespaces, which never returns. In any other process it
// does nothing. A test program that calls Main or Run calls it first.
func First() {
	if filepath.Base(os.Args[0]) == firstName && os.Getpid() == 1 {
		os.Exit(first(os.Args[1:]))
	}
}

// Main runs the tests of a package, which run does and which return an exit code, in
// namespaces of their own. Without root, in short tests, while fuzzing, and in a guest whose root
// cannot be replaced, it runs them where they are. TestMain calls it.
func Main(ctx context.Context, run func() int) int {
	First()
	flag.Parse()
	if fuzz := flag.Lookup("test.fuzz"); Inside() || testing.Short() || fuzz != nil && fuzz.Value.String() != "" || !linuxnet.RealRoot() || inInitramfs("/proc/self/mountinfo") {
		return run()
	}
	err := Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// inInitramfs reports whether the root directory is that of an initramfs, which the kernel does not
// let pivot_root(2) replace, by a list of mounts of the format of proc_pid_mountinfo(5).
func inInitramfs(mountinfo string) bool {
	text, err := os.ReadFile(mountinfo)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 6 && fields[4] == "/" {
			_, kind, _ := strings.Cut(line, " - ")
			return strings.HasPrefix(kind, "rootfs ")
		}
	}
	return false
}

// Run runs this program again with the arguments in new namespaces, in the same working
// directory, and waits for its end. Processes and named network namespaces that the program
// leaves there are an error. It requires root.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return start(ctx, patience(), args, stdout, stderr)
}

// patience limits the wait for what ends by itself after the tests.
func patience() time.Duration { return timelimit.Scaled(10 * time.Second) }

// basePrefix begins the name of the directory of this process's namespaces.
func basePrefix() string { return fmt.Sprintf(baseFormat, os.Getpid()) }

const baseFormat = "tare-testns-%d-"

// Sweep removes the directories that killed test programs have left.
func Sweep() error {
	dirs, err := os.ReadDir(os.TempDir())
	if err != nil {
		return err
	}
	for _, d := range dirs {
		var pid int
		if n, _ := fmt.Sscanf(d.Name(), baseFormat, &pid); n == 1 && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			err = errors.Join(err, os.Remove(filepath.Join(os.TempDir(), d.Name()))) // empty: what was mounted there has gone
		}
	}
	return err
}

// start is Run with another patience.
func start(ctx context.Context, patience time.Duration, args []string, stdout, stderr io.Writer) error {
	base, err := os.MkdirTemp("", basePrefix())
	if err != nil {
		return err
	}
	defer os.RemoveAll(base) // what is mounted there is in the namespaces only
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	var keep []string
	for _, arg := range args {
		// It is for the cache of results, which does not know these namespaces.
		if !strings.HasPrefix(arg, "-test.testlogfile=") {
			keep = append(keep, arg)
		}
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{patience.String(), base, module(dir), own}, keep...)...)
	cmd.Args[0] = firstName
	cmd.Env = append(os.Environ(), variable+"=1", "TMPDIR=/tmp")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	runtime.LockOSThread() // the namespaces end with the thread that started their first process
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		return errors.Join(fmt.Errorf("tests in namespaces of their own: %w", err), removeGroups(groupName(base)))
	}
	return removeGroups(groupName(base))
}

// module is the directory of the module that a directory is in, or that directory.
func module(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}
