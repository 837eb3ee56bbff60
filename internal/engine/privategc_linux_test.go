package engine_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/driver/drivertest"
	"tare/internal/engine"
	"tare/internal/lab"
)

// role is the variable that makes TestRole a helper of another test.
const role = "TARE_TEST_ROLE"

// TestRole is no test of its own but what the process does that another test starts.
func TestRole(t *testing.T) {
	switch os.Getenv(role) {
	case "":
	case "controller":
		controller(t)
	case "unified":
		unified(t)
	case "badly set up":
		badlySetUp(t)
	default:
		t.Fatalf("no role %s", os.Getenv(role))
	}
}

// as prepares this test's program to run in a role.
func as(t *testing.T, what string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestRole$", "-test.v")
	cmd.Env = append(os.Environ(), role+"="+what)
	cmd.Stderr = os.Stderr
	return cmd
}

// controller has two engines with a container each until it is killed.
func controller(t *testing.T) {
	l := drivertest.Lab(t, nil)
	a, b := bothEngines(t, l)
	holder(t, l, a, "client", nil)
	holder(t, l, b, "server", nil)
	fmt.Printf("\nstands %s %d %d\n", l.Spec.Claim.ID, a.InitPID(), b.InitPID())
	<-t.Context().Done()
}

// Engines end with the process that started them, also when that is killed. What
// then is left is found and removed; so is an engine that was stopped and could not
// end. What a live run has is no leftover.
func TestControllerKilled(t *testing.T) {
	live, p := private(t)
	cmd := as(t, "controller")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var id string
	var a, b int
	for lines := bufio.NewScanner(out); id == "" && lines.Scan(); {
		// The line may not be there yet, which leaves id empty.
		_, _ = fmt.Sscanf(lines.Text(), "stands %s %d %d", &id, &a, &b)
	}
	if id == "" {
		t.Fatal("the controller did not start its engines: ", cmd.Wait())
	}
	ofA, ofB := below(t, a), below(t, b)
	if len(ofA) < 4 || len(ofB) < 4 {
		t.Fatalf("engines of %v and %v", ofA, ofB)
	}
	if found := leftOf(t, id); len(found) > 0 {
		t.Errorf("a live run is taken for dead: %v", found)
	}
	if err := syscall.Kill(a, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	eventually(t, "the end of the engine that can", func() bool { return len(running(ofB)) == 0 })
	found := leftOf(t, id)
	if len(found) != 2 {
		t.Errorf("found %v, want two engines", found)
	}
	for _, l := range found {
		for range 2 { // the second time it is gone already
			if err := l.Remove(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	if left := running(ofA); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if left := traces(t, id); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if p.Fate() != "" || len(leftOf(t, live.Spec.Claim.ID)) > 0 {
		t.Errorf("the other run's engine: %q", p.Fate())
	}
	ofLab, err := lab.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range ofLab {
		if l.Run == id {
			if err := l.Remove(); err != nil {
				t.Error(err)
			}
		}
	}
}

// leftOf finds what gc would remove of one run.
func leftOf(t *testing.T, id string) []engine.Leftover {
	t.Helper()
	alive, err := lab.Alive()
	if err != nil {
		t.Fatal(err)
	}
	found, err := engine.PrivateLeftovers(alive)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(found, func(l engine.Leftover) bool { return l.Run != id })
}

// The settings of the machine's own engine are not read: with these it would not
// start.
func TestSettingsAreNotRead(t *testing.T) {
	needEngine(t)
	cmd := as(t, "badly set up")
	// It changes /etc in mounts of its own.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "PASS: TestRole") {
		t.Errorf("an engine beside a broken /etc/docker/daemon.json: %v\n%s", err, out)
	}
}

// badlySetUp starts an engine where the machine's settings are of no use.
func badlySetUp(t *testing.T) {
	layer := t.TempDir()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", layer, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, at := range []string{"/etc", layer} {
			if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		}
	})
	upper, work := filepath.Join(layer, "upper"), filepath.Join(layer, "work")
	for _, dir := range []string{filepath.Join(upper, "docker"), work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(upper, "docker", "daemon.json"), []byte("this is not JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("overlay", "/etc", "overlay", 0, "lowerdir=/etc,upperdir="+upper+",workdir="+work); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/etc/docker/daemon.json"); err != nil {
		t.Fatal(err)
	}
	_, p := private(t)
	if _, err := os.Stat(filepath.Join("/proc", fmt.Sprint(p.InitPID()), "root/etc/docker/daemon.json")); err == nil {
		t.Error("the engine sees the machine's settings")
	}
}

// An engine finds its control groups in the one hierarchy of version 2, and leaves
// none in it.
func TestUnifiedControlGroups(t *testing.T) {
	needEngine(t)
	cmd := as(t, "unified")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "PASS: TestRole") {
		t.Errorf("an engine on control groups of version 2: %v\n%s", err, out)
	}
}

// unified starts an engine where all that there is of control groups is version 2.
func unified(t *testing.T) {
	const groups = "/sys/fs/cgroup"
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Unmount(groups, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("cgroup2", groups, "cgroup2", 0, ""); err != nil {
		t.Fatal(err)
	}
	if all, err := engine.Hierarchies(); err != nil || !slices.Equal(all, []string{groups}) {
		t.Fatalf("hierarchies %v, %v", all, err)
	}
	l, p := private(t)
	holder(t, l, p, "server", nil)
	if _, err := os.Stat(filepath.Join(groups, p.Cgroup())); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if left := traces(t, l.Spec.Claim.ID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
