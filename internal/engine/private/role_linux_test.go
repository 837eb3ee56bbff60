package private_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/engine/private"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// role is the environment variable that makes TestRole a helper of another test.
const role = "TARE_TEST_ROLE"

// TestRole is not a test but the process that another test starts.
func TestRole(t *testing.T) {
	switch os.Getenv(role) {
	case "":
	case "controller":
		controller(t, private.Config{Installation: private.Packaged()})
	case "rootless controller":
		controller(t, rootlessConfig(t))
	case "lacking":
		fmt.Println(private.MissingRequirements(t.Context()))
	case "stripped":
		for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"} {
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		fmt.Println(private.MissingRequirements(t.Context()))
	case "unified":
		startOnVersion2(t)
	case "badly set up":
		startBesideBadSettings(t)
	default:
		t.Fatalf("no role %s", os.Getenv(role))
	}
}

// inRole prepares this test's program to run in a role.
func inRole(t *testing.T, what string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestRole$", "-test.v")
	cmd.Env = append(os.Environ(), role+"="+what)
	cmd.Stderr = os.Stderr
	return cmd
}

// The settings of the machine's own engine are not read; with these it would fail to start.
func TestSettingsAreNotRead(t *testing.T) {
	drivertest.NeedEngine(t)
	cmd := inRole(t, "badly set up")
	// It changes /etc in its own mounts.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "PASS: TestRole") {
		t.Errorf("an engine beside a broken /etc/docker/daemon.json: %v\n%s", err, out)
	}
}

// startBesideBadSettings starts an engine on a machine with invalid settings.
func startBesideBadSettings(t *testing.T) {
	layer := t.TempDir()
	must.Do(t, unix.Mount("tmpfs", layer, "tmpfs", 0, ""))
	t.Cleanup(func() {
		for _, at := range []string{"/etc", layer} {
			must.Equal(t, nil, unix.Unmount(at, unix.MNT_DETACH))
		}
	})
	upper, work := filepath.Join(layer, "upper"), filepath.Join(layer, "work")
	for _, dir := range []string{filepath.Join(upper, "docker"), work} {
		must.Do(t, os.MkdirAll(dir, 0o755))
	}
	must.Do(t, os.WriteFile(filepath.Join(upper, "docker", "daemon.json"), []byte("this is not JSON"), 0o600))
	must.Do(t, unix.Mount("overlay", "/etc", "overlay", 0, "lowerdir=/etc,upperdir="+upper+",workdir="+work))
	must.Get(os.Stat("/etc/docker/daemon.json"))(t)
	_, p := startOnLab(t)
	if _, err := os.Stat(filepath.Join("/proc", fmt.Sprint(p.InitPID()), "root/etc/docker/daemon.json")); err == nil {
		t.Error("the engine sees the machine's settings")
	}
}

// An engine uses its control groups in the single hierarchy of version 2, and leaves none there.
func TestUnifiedControlGroups(t *testing.T) {
	drivertest.NeedEngine(t)
	cmd := inRole(t, "unified")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "PASS: TestRole") {
		t.Errorf("an engine on control groups of version 2: %v\n%s", err, out)
	}
}

// startOnVersion2 starts an engine on a system with control groups of version 2 only.
func startOnVersion2(t *testing.T) {
	const groups = "/sys/fs/cgroup"
	had := must.Get(private.Hierarchies())(t)
	for _, dir := range append(had, groups) {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil && dir != groups {
			t.Fatal(err)
		}
	}
	must.Do(t, unix.Mount("cgroup2", groups, "cgroup2", 0, ""))
	if all, err := private.Hierarchies(); err != nil || !slices.Equal(all, []string{groups}) {
		t.Fatalf("hierarchies %v, %v", all, err)
	}
	l, p := startOnLab(t)
	holder(t, l, p, "server", nil)
	must.Get(os.Stat(filepath.Join(groups, p.Cgroup())))(t)
	must.Do(t, p.Close())
	if left := traces(t, l.Spec.Claim.ID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Missing requirements of an engine are named, with the fix.
func TestMissingRequirements(t *testing.T) {
	drivertest.NeedEngine(t)
	cmd := inRole(t, "lacking")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "needs root; run tare as root") {
		t.Errorf("in a user namespace: %v\n%s", err, out)
	}
	cmd = inRole(t, "stripped")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	cmd.Env = append(cmd.Env, "PATH=") // which may also name unpacked programs
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "needs dockerd, containerd, runc, iptables, which") ||
		!strings.Contains(string(out), "apt-get install docker.io iptables") {
		t.Errorf("without programs: %v\n%s", err, out)
	}
}
