package private_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/engine/private"
	"tare/internal/runid"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// A process of another user that looks like an engine's is none: root does not end it and looks
// for nothing by its name.
func TestForeignProcess(t *testing.T) {
	drivertest.NeedLab(t)
	drivertest.NeedRoot(t, "to act as another user")
	const run, nobody = "deadbeef", 65534
	dir := must.Get(os.MkdirTemp("", "tare-test-"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	script := filepath.Join(dir, private.InitCommand)
	must.Do(t, os.WriteFile(script, []byte("read -r\n"), 0o600))
	for path, mode := range map[string]os.FileMode{dir: 0o755, script: 0o644} {
		must.Do(t, os.Chmod(path, mode))
	}
	engines := func(user uint32) int {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", `exec -a tare bash engine-init --run "$0" --dir "/x/$0-docker.bridge-a" -- dockerd`, run)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		in := must.Get(cmd.StdinPipe())(t)
		must.Do(t, cmd.Start())
		defer func() {
			in.Close()
			_ = cmd.Wait()
		}()
		line := filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "cmdline")
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if text, _ := os.ReadFile(line); strings.HasPrefix(string(text), "tare\x00engine-init\x00") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the process did not start")
			}
		}
		n := 0
		// Also if its user claims that the run is alive, or not.
		for _, alive := range []runid.Claims{nil, {{Run: run, User: nobody}}} {
			found := must.Get(private.Leftovers(alive))(t)
			for _, l := range found {
				if l.Run == run {
					n++
				}
			}
		}
		return n
	}
	must.EqualFor(t, "engines of another user's process", 0, engines(nobody))
	must.EqualFor(t, "engines of root's process, each time", 2, engines(0))
}

// A directory and a control group that have only the name of an engine's stay; with the mark of a run they go, also if
// the mark is all that a run had made when it was killed, or all that was left to remove.
func TestOnlyMarkedEngines(t *testing.T) {
	drivertest.NeedLab(t)
	drivertest.NeedRoot(t, "to make control groups")
	claim := must.Get(runid.New())(t)
	claim.Release() // it is dead
	name := claim.ID + "-notes"
	groups := must.Get(private.Hierarchies())(t)
	dir, mark, group := filepath.Join(enginesDir, name), filepath.Join(enginesDir, name+".run"), filepath.Join(groups[0], "tare-"+name)
	must.Do(t, os.MkdirAll(dir, 0o700))
	t.Cleanup(func() { os.RemoveAll(dir) })
	must.Do(t, os.WriteFile(filepath.Join(dir, "file"), []byte("notes"), 0o600))
	must.Do(t, os.Mkdir(group, 0o755))
	t.Cleanup(func() { _ = syscall.Rmdir(group) })
	remove := func() (unmarked, marked []string) {
		for _, l := range leftOf(t, claim.ID) {
			if l.Unmarked {
				unmarked = append(unmarked, l.What)
			} else {
				marked = append(marked, l.What)
			}
			must.Do(t, l.Remove(t.Context()))
		}
		return unmarked, marked
	}
	own := []string{"directory " + dir, "control group " + group}
	for _, text := range []string{"", "notes", "tare 0badcafe\n"} {
		if text != "" {
			must.Do(t, os.WriteFile(mark, []byte(text), 0o600))
		}
		unmarked, marked := remove()
		must.EqualFor(t, "left alone", own, unmarked)
		must.EqualFor(t, "removed", []string(nil), marked)
		must.Get(os.Stat(filepath.Join(dir, "file")))(t)
		must.Get(os.Stat(group))(t)
	}
	for range 2 { // the second time the mark is all that there is
		must.Do(t, os.MkdirAll(enginesDir, 0o755))
		must.Do(t, os.WriteFile(mark, []byte("tare "+claim.ID+"\n"), 0o600))
		unmarked, marked := remove()
		must.EqualFor(t, "left alone", []string(nil), unmarked)
		must.EqualFor(t, "removed", []string{"engine " + name}, marked)
		must.EqualFor(t, "left", []string(nil), traces(t, claim.ID))
	}
}
