package testns

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/linuxnet"
	"tare/internal/runid"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// task is the variable with what this program does in the namespaces, in place of tests.
const task = "TARE_TESTNS_TASK"

func TestMain(m *testing.M) {
	First()
	if what := os.Getenv(task); what != "" && Inside() {
		os.Exit(tasks[what]())
	}
	os.Exit(m.Run())
}

// outside are a file and a name that exist outside of the namespaces.
const (
	outsideFile = "/var/tmp/tare-testns-outside"
	outsideName = "tare-testns-outside"
)

// tasks return an exit code.
var tasks = map[string]func() int{
	"look": func() int {
		runs, err := runid.Running()
		names, pinErr := linuxnet.Pinned("")
		_, fileErr := os.Stat(outsideFile)
		_, moduleErr := os.Stat("../../../go.mod")
		switch {
		case err != nil || len(runs) > 0, pinErr != nil || len(names) > 0, !errors.Is(fileErr, fs.ErrNotExist), moduleErr != nil:
			return 3
		case len(processes()) != 1: // besides the first, this one
			return 4
		}
		// What is written outside of the module is gone with the namespaces.
		if os.WriteFile(outsideFile+"-2", nil, 0o600) != nil || os.WriteFile("/tare-testns", nil, 0o600) != nil {
			return 5
		}
		return 0
	},
	"look at other file systems": func() int {
		for i, dir := range otherPlaces {
			file := dir + "/file"
			if text, err := os.ReadFile(file); err != nil || string(text) != dir {
				return 3
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil && (i != 2 || !errors.Is(err, unix.EROFS)) {
				return 4
			}
		}
		return 0
	},
	"leave a process": func() int {
		if err := exec.Command("sleep", "1000").Start(); err != nil {
			return 3
		}
		return 0
	},
	"leave a namespace": func() int {
		if err := exec.Command("ip", "netns", "add", "left-there").Run(); err != nil {
			return 3
		}
		return 0
	},
	"leave what ends": func() int {
		if err := exec.Command("sleep", "0.3").Start(); err != nil {
			return 3
		}
		return 0
	},
	"fail": func() int { return 7 },
	"die": func() int {
		p, err := os.FindProcess(os.Getpid())
		if err != nil || p.Kill() != nil {
			return 3
		}
		time.Sleep(time.Minute)
		return 3
	},
}

// perform runs a task in namespaces and returns its output and its error.
func perform(t *testing.T, what string, patience time.Duration) (string, error) {
	t.Helper()
	testneed.NotShort(t)
	if !linuxnet.RealRoot() {
		testneed.Missing(t, testneed.Root, "to create the namespaces")
	}
	t.Setenv(task, what)
	var out bytes.Buffer
	err := start(t.Context(), patience, nil, &out, &out)
	return out.String(), err
}

// A test in namespaces sees the module and nothing of what runs and exists elsewhere, and what
// it writes is not seen elsewhere.
func TestSeesNothingElse(t *testing.T) {
	testneed.NotShort(t)
	if !linuxnet.RealRoot() {
		testneed.Missing(t, testneed.Root, "to create the namespaces")
	}
	run := must.Get(runid.New())(t)
	defer run.Release()
	ns := must.Get(linuxnet.NewPinnedNS(outsideName, ""))(t)
	defer ns.Close()
	must.Do(t, os.WriteFile(outsideFile, nil, 0o600))
	defer os.RemoveAll(outsideFile)
	if out, err := perform(t, "look", time.Minute); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, path := range []string{outsideFile + "-2", "/tare-testns"} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// otherPlaces are where a test mounts file systems. The last one cannot be a part of an overlay.
var otherPlaces = [...]string{"/mnt", "/mnt/with space", "/mnt/with,comma"}

// File systems that the machine has mounted below its root, as for /home and /usr, are there too, and keep what they
// have.
func TestSeesOtherFileSystems(t *testing.T) {
	testneed.NotShort(t)
	if !linuxnet.RealRoot() {
		testneed.Missing(t, testneed.Root, "to create the namespaces")
	}
	runtime.LockOSThread() // and never unlocked: the thread ends with its mount namespace
	must.Do(t, errors.Join(unix.Unshare(unix.CLONE_NEWNS), mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")))
	for _, dir := range otherPlaces {
		must.Do(t, errors.Join(os.MkdirAll(dir, 0o755), mount("tmpfs", dir, "tmpfs", 0, ""), os.WriteFile(dir+"/file", []byte(dir), 0o600)))
	}
	if out, err := perform(t, "look at other file systems", time.Minute); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, dir := range otherPlaces {
		must.Equal(t, dir, string(must.Get(os.ReadFile(dir+"/file"))(t)))
	}
}

// A program that leaves something fails, whatever its exit code; what ends by itself is waited
// for. Nothing is left outside.
func TestLeftBehind(t *testing.T) {
	for _, tt := range []struct {
		what     string
		patience time.Duration
		want     string // in the output; empty for success
		code     int
	}{
		{"leave a process", time.Second, "left behind:\nprocess sleep 1000", 1},
		{"leave a namespace", time.Second, "left behind:\nleft-there", 1},
		{"leave what ends", time.Minute, "", 0},
		{"fail", time.Minute, "", 7},
		{"die", time.Minute, "ended by signal killed", 1},
	} {
		t.Run(tt.what, func(t *testing.T) {
			before := ownGroups(t)
			out, err := perform(t, tt.what, tt.patience)
			code := 0
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != tt.code || !strings.Contains(out, tt.want) || tt.want == "" && out != "" {
				t.Errorf("exit code %d, want %d\n%s", code, tt.code, out)
			}
			if after := ownGroups(t); !slices.Equal(before, after) {
				t.Errorf("control groups %q, before %q", after, before)
			}
		})
	}
}

// ownGroups lists the control groups that this process has made for namespaces.
func ownGroups(t *testing.T) (found []string) {
	t.Helper()
	all := must.Get(Hierarchies())(t)
	for _, h := range all {
		dirs := must.Get(filepath.Glob(filepath.Join(h.At, groupName(filepath.Join(os.TempDir(), basePrefix()))+"*")))(t)
		found = append(found, dirs...)
	}
	return found
}

// The root of a guest is known by its mount; another mount of the same kind is not taken for it.
func TestInitramfs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mountinfo")
	for text, want := range map[string]bool{
		"1 1 0:2 / / rw shared:1 - rootfs rootfs rw\n2 1 0:5 / /proc rw - proc none rw\n":       true,
		"22 27 0:21 / /proc rw - proc proc rw\n27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n": false,
		"1 1 0:2 / /old rw - rootfs rootfs rw\n":                                                false,
		"":                                                                                      false,
	} {
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		must.EqualFor(t, text, want, inInitramfs(file))
	}
}

// The directory of a test program that was killed is removed, that of one that runs is not.
func TestSweep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	gone := exec.Command("true")
	must.Do(t, gone.Run())
	left := filepath.Join(os.TempDir(), fmt.Sprintf(baseFormat+"1", gone.Process.Pid))
	mine := must.Get(os.MkdirTemp("", basePrefix()))(t)
	must.Do(t, os.Mkdir(left, 0o700))
	must.Do(t, Sweep())
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", left, err)
	}
	must.Get(os.Stat(mine))(t)
}
