//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// The first `ip netns add` of a machine, while a namespace has a name, does not keep the name from
// being removed. The test runs in a mount namespace without names.
func TestPinBeforeIPNetns(t *testing.T) {
	const inside = "TARE_TEST_PIN"
	testneed.NotShort(t)
	if !RealRoot() {
		testneed.Missing(t, testneed.Root, "to name namespaces")
	}
	if os.Getenv(inside) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestPinBeforeIPNetns$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	must.Do(t, unix.Mount("tmpfs", "/run", "tmpfs", 0, ""))
	ns := must.Get(NewPinnedNS("tare-pin-test", "tare-mark"))(t)
	if out, err := exec.Command("ip", "netns", "add", "others").CombinedOutput(); err != nil {
		t.Fatalf("ip netns add: %v\n%s", err, out)
	}
	must.Do(t, ns.Close())
	left, err := filepath.Glob(filepath.Join(PinDir, "*"))
	if want := filepath.Join(PinDir, "others"); err != nil || len(left) != 1 || left[0] != want {
		t.Errorf("names after Close: %v, %v; want only %s", left, err, want)
	}
}

// At every moment at which a process can be killed, a name that it has made bears its mark.
func TestMark(t *testing.T) {
	testneed.NotShort(t)
	if !RealRoot() {
		testneed.Missing(t, testneed.Root, "to name namespaces")
	}
	const mark = "tare-test-mark"
	name := fmt.Sprintf("%s-%d", mark, os.Getpid())
	path := filepath.Join(PinDir, name)
	t.Cleanup(func() { _ = Unpin(name) })
	check := func(when string) {
		t.Helper()
		if !HasMark(name, mark) || HasMark(name, mark+"s") || HasMark(name, mark[1:]) || HasMark(name, "") {
			t.Errorf("%s: has the mark %t, a longer one %t, a shorter one %t, none %t",
				when, HasMark(name, mark), HasMark(name, mark+"s"), HasMark(name, mark[1:]), HasMark(name, ""))
		}
	}
	must.Do(t, sharePinDir())
	must.Do(t, CreateMark(path, mark))
	check("not mounted yet")
	if err := CreateMark(path, "other"); !errors.Is(err, os.ErrExist) {
		t.Errorf("created twice: %v", err)
	}
	must.Do(t, Unpin(name))
	ns := must.Get(NewPinnedNS(name, mark))(t)
	check("mounted")
	must.Do(t, unix.Unmount(path, unix.MNT_DETACH))
	check("no longer mounted")
	must.Do(t, ns.Close())
	must.Do(t, os.Symlink("/etc/hostname", path))
	must.True(t, !HasMark(name, mark), "a link has the mark")
	must.Do(t, os.Remove(path))
	must.Do(t, unix.Mkfifo(path, 0o600))
	must.True(t, !HasMark(name, mark), "a pipe has the mark")
}
