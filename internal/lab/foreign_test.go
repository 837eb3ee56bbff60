//go:build linux

package lab_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/runid"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// nobody is an ordinary user.
const nobody = 65534

func needRealRoot(t *testing.T) {
	t.Helper()
	drivertest.NeedLab(t)
	drivertest.NeedRoot(t, "to act as another user")
}

// bindAs binds an abstract socket for another user until the test ends.
func bindAs(t *testing.T, user int, name string) {
	t.Helper()
	var release func()
	must.Do(t, onThread(func() (err error) {
		// It returns the previous user and no error.
		_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, uintptr(user), 0, 0)
		release, err = runid.Bind(name)
		return err
	}))
	t.Cleanup(release)
}

// onThread calls fn on a thread that ends afterwards. It is not the main one, which cannot end,
// and whose user is that of the process.
func onThread(fn func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			done <- onThread(fn)
			runtime.UnlockOSThread()
			return
		}
		done <- fn()
	}()
	return <-done
}

// deadRun returns the id of a run that has left a namespace.
func deadRun(t *testing.T) string {
	t.Helper()
	claim := must.Get(lab.Standalone())(t)
	claim.Release()
	ns := must.Get(linuxnet.NewPinnedNS(lab.Prefix+claim.ID+"-host-a", lab.Prefix+claim.ID))(t)
	t.Cleanup(func() { _ = ns.Close() })
	return claim.ID
}

// namespacesOf lists what gc would remove of a run's namespaces.
func namespacesOf(t *testing.T, run string) (found []lab.Leftover) {
	t.Helper()
	all := must.Get(lab.Leftovers())(t)
	return slices.DeleteFunc(all, func(l lab.Leftover) bool { return l.Run != run || !strings.HasPrefix(l.What, "namespace ") })
}

// fakeAgent runs a process whose command line and parent are like those of an agent of a run.
func fakeAgent(t *testing.T, user uint32, run string) {
	t.Helper()
	dir := t.TempDir()
	for path := dir; path != "/"; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); path != os.TempDir() && err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(path) == os.TempDir() {
			break
		}
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "agent"), []byte("read -r\n"), 0o600))
	must.Do(t, os.Chmod(filepath.Join(dir, "agent"), 0o644))
	// The shell stays, as the parent; its child is the same program, and reads from the pipe.
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `(exec -a tare bash agent --run "$0"); :`, run)
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	in := must.Get(cmd.StdinPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(timelimit.Scaled(10 * time.Second)); ; time.Sleep(5 * time.Millisecond) {
		children, err := linuxnet.Children(cmd.Process.Pid)
		if err == nil && len(children) == 1 {
			line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(children[0]), "cmdline"))
			if strings.HasPrefix(string(line), "tare\x00agent\x00") {
				return
			}
		}
		must.Require(t, !time.Now().After(deadline), "the fake agent did not start: %v, %v", children, err)
	}
}

// What another user says of a run does not keep what root's dead run left: neither a claim nor
// a process that looks like an agent. What root says does.
func TestForeignClaims(t *testing.T) {
	needRealRoot(t)
	for name, tt := range map[string]struct {
		claim func(t *testing.T, run string)
		kept  bool
	}{
		"another user's claim": {func(t *testing.T, run string) { bindAs(t, nobody, "@tare-run/"+run) }, false},
		"another user's agent": {func(t *testing.T, run string) { fakeAgent(t, nobody, run) }, false},
		"root's claim":         {func(t *testing.T, run string) { bindAs(t, 0, "@tare-run/"+run) }, true},
		"root's agent":         {func(t *testing.T, run string) { fakeAgent(t, 0, run) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			run := deadRun(t)
			must.Require(t, len(namespacesOf(t, run)) == 1, "the namespace of the dead run is not found")
			tt.claim(t, run)
			if found := namespacesOf(t, run); len(found) == 1 == tt.kept {
				t.Errorf("found %v, want the namespace: %t", found, !tt.kept)
			}
		})
	}
}

// A user who claims every slot does not keep root from running.
func TestForeignSlots(t *testing.T) {
	needRealRoot(t)
	for slot := range lab.Slots {
		bindAs(t, nobody, "@tare-slot/"+strconv.Itoa(slot)+"/taken")
	}
	var all []int
	for range 2 {
		c, err := lab.Standalone()
		must.Do(must.Named(t, "with all slots taken by another user"), err)
		defer c.Release()
		must.True(t, !slices.Contains(all, c.Slot), "slot %d is claimed twice", c.Slot)
		all = append(all, c.Slot)
	}
}

// A temporary file that cannot be created leaves no directory.
func TestCreateTempFails(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, err := lab.CreateTemp("deadbeef", "missing/file")
	must.Fail(t, err, "missing")
	must.Equal(t, 0, len(must.Get(os.ReadDir(os.TempDir()))(t)))
}

// Directories of dead runs are found by their names and removed by their marks, for their user. What has only
// such a name is named and stays, and nothing is followed out of the temporary directory.
func TestTemporaryFiles(t *testing.T) {
	needRealRoot(t)
	t.Setenv("TMPDIR", t.TempDir())
	must.Do(t, os.Chmod(os.TempDir(), 0o777|os.ModeSticky))
	kept := filepath.Join(t.TempDir(), "kept")
	must.Do(t, os.WriteFile(kept, []byte("kept"), 0o600))
	const dead, date = "deadbeef", "20261125"
	file := must.Get(lab.CreateTemp(dead, "boot.log"))(t)
	file.Close()
	dir := must.Get(lab.MkdirTemp(dead, "ovs"))(t)
	must.Do(t, os.Symlink(kept, filepath.Join(dir, "link")))
	other := must.Get(lab.MkdirTemp(dead, "of-another-user"))(t)
	must.Do(t, os.Chown(other, nobody, nobody))
	at := func(name string) string { return filepath.Join(os.TempDir(), lab.Prefix+name) }
	must.Do(t, os.Symlink(filepath.Dir(kept), at(dead+"-link")))
	// A user's own: by its name alone, with a mark that was copied, that leads elsewhere, or that is no file.
	mark := must.Get(os.ReadFile(filepath.Join(dir, ".tare-run")))(t)
	var own []string
	for name, make := range map[string]func(string) error{
		"results": func(string) error { return nil },
		"copied":  func(m string) error { return os.WriteFile(m, mark, 0o600) },
		"linked":  func(m string) error { return os.Symlink(filepath.Join(dir, ".tare-run"), m) },
		"piped":   func(m string) error { return syscall.Mkfifo(m, 0o600) },
	} {
		for _, run := range []string{dead, date} {
			must.Do(t, os.Mkdir(at(run+"-"+name), 0o700))
			must.Do(t, make(filepath.Join(at(run+"-"+name), ".tare-run")))
			own = append(own, "directory "+at(run+"-"+name))
		}
	}
	names := []string{"run", dead, dead + "-file", date + "-notes.txt", "farm-1", "deadbee-x"}
	for _, name := range names {
		must.Do(t, os.WriteFile(at(name), nil, 0o600))
	}
	bindAs(t, nobody, "@tare-run/"+dead)
	var removed, left []string
	for _, l := range must.Get(lab.Leftovers())(t) {
		if l.Run != dead && l.Run != date {
			continue
		}
		if l.Unmarked {
			left = append(left, l.What)
		} else {
			removed = append(removed, l.What)
		}
		for range 2 {
			must.Equal(t, nil, l.Remove())
		}
	}
	for _, all := range [][]string{removed, left, own} {
		slices.Sort(all)
	}
	// The other user's is kept by that user's claim.
	want := []string{"directory " + dir, "directory " + filepath.Dir(file.Name())}
	slices.Sort(want)
	must.EqualFor(t, "removed", want, removed)
	must.EqualFor(t, "left alone", own, left)
	must.EqualFor(t, "left", len(names)+len(own)+2, len(must.Get(os.ReadDir(os.TempDir()))(must.Named(t, "left"))))
	must.Get(os.Stat(kept))(t)
}

// A namespace that has only the name of a run's, or a file in its place, is named and stays.
func TestUnmarkedNamespaces(t *testing.T) {
	needRealRoot(t)
	run := deadRun(t)
	user := must.Get(linuxnet.NewPinnedNS(lab.Prefix+run+"-results", ""))(t)
	t.Cleanup(func() { _ = user.Close() })
	other := must.Get(linuxnet.NewPinnedNS(lab.Prefix+run+"-other-run", lab.Prefix+"0badcafe"))(t)
	t.Cleanup(func() { _ = other.Close() })
	file := filepath.Join(linuxnet.PinDir, lab.Prefix+run+"-file")
	must.Do(t, os.WriteFile(file, []byte("notes"), 0o600))
	t.Cleanup(func() { _ = os.Remove(file) })
	var left []string
	for _, l := range namespacesOf(t, run) {
		if l.Unmarked {
			left = append(left, strings.TrimPrefix(l.What, "namespace "))
		}
		must.Equal(t, nil, l.Remove())
	}
	want := []string{filepath.Base(file), other.Name(), user.Name()}
	must.EqualFor(t, "left alone", want, left)
	for _, name := range want {
		must.Get(os.Lstat(filepath.Join(linuxnet.PinDir, name)))(t)
	}
	must.EqualFor(t, "still found", len(want), len(namespacesOf(t, run)))
}

// A process is its user's, whatever the owner of its directory in /proc.
func TestOwner(t *testing.T) {
	needRealRoot(t)
	cmd := exec.CommandContext(t.Context(), "cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	in := must.Get(cmd.StdinPipe())(t)
	must.Do(t, cmd.Start())
	defer func() {
		in.Close()
		_ = cmd.Wait()
	}()
	must.Equal(t, nobody, must.Get(linuxnet.Owner(cmd.Process.Pid))(t))
	must.FailFor(t, "a process that does not exist has a user", must.Err(linuxnet.Owner(1<<30)))
}
