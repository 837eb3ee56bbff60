//go:build linux

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/runid"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// nobody is an ordinary user.
const nobody = 65534

// asNobody starts a process as nobody, or as who runs the tests if that is an ordinary user already.
func asNobody() *syscall.SysProcAttr {
	if !linuxnet.RealRoot() {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

const allModes = `name: all
blocks: 2
settle: 10ms
modes: [host, host-local, netns/published, netns/bridge, netns/colocated, netns/macvlan, netns/vxlan]
invalid: {steal: off, others: off, unsettled: off}
workloads:
  - {workload: tcp_stream, rate: 200Mbit/s, write_size: 16KiB, warmup: 50ms, duration: 200ms}
  - {workload: tcp_rr, transaction_rate: 500, request_size: 32KiB, response_size: 32KiB, warmup: 50ms, duration: 200ms}
`

// An ordinary user measures the same modes inside a user namespace.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	needLab(t)
	dir := studyIn(t, allModes)
	out := filepath.Join(dir, "run")
	p := startAs(t, asNobody(), dir, "run", "study.yaml", "--out", out)
	if code := p.wait(t); code != 0 {
		if strings.Contains(p.stderr.String(), "no lab can be created here") {
			testneed.Missing(t, testneed.Labs, "an ordinary user may not create namespaces: "+p.stderr.String())
		}
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	run, trials := loaded(t, out)
	noneFailed(t, trials)
	for _, m := range run.Modes {
		must.True(t, m.Status == result.ModeMeasured, "%s is %s: %s", m.ID, m.Status, m.Reason)
	}
	must.True(t, run.Trials.OK == 28, "trials %+v, want 28", run.Trials)
	if found := left(t, run.ID); found != nil {
		t.Errorf("left behind: %v", found)
	}
}

// App in another program neither starts that program again, as which its own arguments would mean something else,
// nor creates anything.
func TestAppOfAnotherProgram(t *testing.T) {
	t.Parallel()
	needLab(t)
	if linuxnet.Try() == nil && !linuxnet.RealRoot() {
		testneed.Missing(t, testneed.Other, "this is root of a user namespace")
	}
	dir := studyIn(t, allModes)
	p := prepared(dir, "run", "study.yaml", "--out", "run")
	p.cmd.Path, p.cmd.Args[0], p.cmd.SysProcAttr = copySelf(t, dir), notTare, asNobody()
	p.begin(t)
	if code := p.wait(t); code != 3 || !strings.Contains(p.stderr.String(), "no lab can be created here") || exists(filepath.Join(dir, "run")) {
		t.Errorf("exit code %d, want 3 without a run\n%s", code, p.stderr.String())
	}
}

// Signals and kill -9 reach the process in the user namespace.
func TestOrdinaryUserEnds(t *testing.T) {
	t.Parallel()
	needLab(t)
	for name, sig := range map[string]syscall.Signal{"interrupted": syscall.SIGINT, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := studyIn(t, longStudy)
			out := filepath.Join(dir, "run")
			p := startAs(t, asNobody(), dir, "run", "study.yaml", "--out", out)
			var all []int
			until(t, "a trial, the controller and 4 agents", func() bool { // which between blocks are made again
				all = descendants(p.cmd.Process.Pid)
				return trialsIn(out) >= 1 && len(all) >= 5
			})
			must.Do(t, p.cmd.Process.Signal(sig))
			code := p.wait(t)
			must.True(t, sig != syscall.SIGINT || code == 130, "exit code %d, want 130\n%s", code, p.stderr.String())
			ended := time.Now()
			until(t, "all processes to end", func() bool { return gone(all) })
			t.Logf("%d processes gone after %s", len(all), time.Since(ended).Round(time.Millisecond))
		})
	}
}

// An ordinary user's gc removes what that user's runs left, lists what others left as left alone, and
// does not fail because of it, whatever processes others have.
func TestOrdinaryUserCollects(t *testing.T) {
	needRoot(t)
	dir := studyIn(t, allModes)
	id := must.Get(runid.New())(t)
	id.Release() // it is dead
	ns := must.Get(linuxnet.NewPinnedNS(lab.Prefix+id.ID+"-host-a", lab.Prefix+id.ID))(t)
	t.Cleanup(func() { _ = ns.Close() })
	must.Do(t, os.WriteFile(filepath.Join(dir, "engine-init"), []byte("read -r\n"), 0o600))
	foreign := exec.CommandContext(t.Context(), "bash", "-c", `exec -a tare bash engine-init --run "$0" --dir "/x/$0-docker.bridge-a" -- dockerd`, id.ID)
	foreign.Dir = dir
	in := must.Get(foreign.StdinPipe())(t)
	must.Do(t, foreign.Start())
	t.Cleanup(func() {
		in.Close()
		_ = foreign.Wait() // gc of root may have ended it
	})
	until(t, "a process that looks like an engine's", func() bool {
		return len(processes(func(args []string, _ int) bool { return len(args) > 3 && args[1] == "engine-init" && args[3] == id.ID })) == 1
	})
	// In a user namespace of its own, an ordinary user is called root, and other users are called nobody.
	root := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, Credential: &syscall.Credential{},
		UidMappings: []syscall.SysProcIDMap{{HostID: nobody, Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: nobody, Size: 1}}}
	for who, attr := range map[string]*syscall.SysProcAttr{"an ordinary user": asNobody(), "root of a user namespace": root} {
		p := startAs(t, attr, dir, "gc")
		if code := p.wait(t); code != 0 || strings.Contains(p.stdout.String(), id.ID) || strings.Count(p.stderr.String(), " of run "+id.ID+", of another user") < 2 {
			t.Errorf("as %s: exit code %d\n%s%s", who, code, p.stdout.String(), p.stderr.String())
		}
		must.True(t, exists(filepath.Join(linuxnet.PinDir, ns.Name())), "as %s, gc removed root's namespace", who)
	}
	p := start(t, dir, "gc")
	if code := p.wait(t); code != 0 || !strings.Contains(p.stdout.String(), "removed namespace "+ns.Name()) {
		t.Errorf("as root: exit code %d\n%s%s", code, p.stdout.String(), p.stderr.String())
	}
}

// Without any rights the run ends with code 3 and says what is needed.
func TestNoRights(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := studyIn(t, allModes)
	path := copySelf(t, dir)
	// In a user namespace whose own limit is 0 and without capabilities there is
	// no way to a network namespace.
	script := `echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -all --inh-caps -all "$0" "$@"`
	cmd := exec.Command("unshare", "-Ur", "sh", "-c", script, path, "run", "study.yaml", "--out", "run")
	link := filepath.Join(dir, "tare")
	must.Do(t, os.Symlink(path, link))
	cmd.Args[5] = link
	cmd.Dir = dir
	text, _ := cmd.CombinedOutput()
	must.Equal(t, 3, cmd.ProcessState.ExitCode())
	must.True(t, strings.Contains(string(text), "no lab can be created here") && strings.Contains(string(text), "sudo") && strings.Count(strings.TrimSpace(string(text)), "\n") == 0,
		"said:\n%s", text)
	must.True(t, !exists(filepath.Join(dir, "run")), "the run's directory was made")
}

// A directory that cannot be written ends the run before anything is made.
func TestNotWritable(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := studyIn(t, allModes)
	locked := filepath.Join(dir, "locked")
	must.Do(t, os.Mkdir(locked, 0o755))
	p := startAs(t, asNobody(), dir, "run", "study.yaml", "--out", filepath.Join(locked, "run"))
	if code := p.wait(t); code != 2 || !strings.Contains(p.stderr.String(), "locked/run") {
		t.Errorf("exit code %d, want 2\n%s", code, p.stderr.String())
	}
}
