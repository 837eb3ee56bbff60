package machine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/machine"
	"tare/internal/runid"
	"tare/internal/testkit/machinetest"
	"tare/internal/testkit/must"
	"tare/internal/timelimit"
)

// endConnections ends all ssh connections of a machine at once, as a firewall that resets them.
const endConnections = "pkill -KILL -f '^sshd: '"

// An agent notices that the connection is cut, says so, and ends there. The machine can be used
// again after Reconnect, also if it was rebooted meanwhile.
func TestReconnect(t *testing.T) {
	b := machinetest.New(t, machinetest.Spec{Name: "a"})
	far := b.Machine("a")
	m := connect(t, b, newRun(t), "a")
	for name, cut := range map[string]func(){
		"cut":      func() { far.Run(t, endConnections) },
		"rebooted": func() { far.Stop(t); far.Start(t) },
	} {
		a, err := agent.Start(t.Context(), m.User, newRun(t), "a/client")
		must.Do(t, err)
		cut()
		_, _, err = a.CPU(t.Context())
		for until := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(until); {
			_, _, err = a.CPU(t.Context())
		}
		must.FailFor(t, name+": the agent's error", err, "machine a (ssh://a)")
		must.Equal(t, nil, a.Close())
		if err := m.Err(); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the connection's error is %v", name, err)
		}
		if _, err := m.User.Launch(t.Context(), "version"); err == nil {
			t.Errorf("%s: a program was started without a connection", name)
		}
		gone(t, far)
		must.Do(t, m.Reconnect(t.Context()))
		runsAgent(t, m)
	}
	closed(t, m)
	gone(t, far)
	must.Do(t, m.Reconnect(t.Context()))
	far.Stop(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := m.Reconnect(ctx); err == nil {
		t.Error("a machine that is off was reached")
	}
	far.Start(t)
}

// controllerEnv makes the test's program connect to machine a and wait to be killed.
const controllerEnv = "TARE_TEST_CONTROLLER"

// TestController is that program.
func TestController(t *testing.T) {
	if os.Getenv(controllerEnv) == "" {
		return
	}
	run := must.Get(runid.New())(t)
	m := must.Get(machine.Connect(t.Context(), run.ID, "a", machine.Address{Host: "a"}, machine.Options{}))(t)
	must.Get(agent.Start(t.Context(), m.User, run.ID, "a/client"))(t)
	fmt.Println("ready", run.ID)
	select {}
}

// After kill -9 of the controller, everything on the other machine ends and is removed.
func TestControllerKilled(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := machinetest.New(t, machinetest.Spec{Name: "a"})
	far := b.Machine("a")
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^TestController$")
	cmd.Env = append(b.Environment(), controllerEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = b.Controller.Start(cmd)
	}
	must.Do(t, err)
	var word, run string
	_, err = fmt.Fscan(out, &word, &run)
	if err != nil || word != "ready" {
		t.Fatalf("%s %v", word, err)
	}
	must.ContainFor(t, "what is there", left(t, far), "agent --run "+run)
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	gone(t, far)
}

// pidsOf returns the processes on a machine whose command line matches a pattern, each after a space.
func pidsOf(t *testing.T, m *machinetest.Machine, pattern string) (pids string) {
	t.Helper()
	is := regexp.MustCompile(pattern)
	for line := range strings.Lines(m.Run(t, `for p in /proc/[0-9]*; do echo "${p#/proc/} $(tr '\0' ' ' <"$p/cmdline")"; done 2>/dev/null`)) {
		if pid, command, _ := strings.Cut(line, " "); is.MatchString(command) {
			pids += " " + pid
		}
	}
	if pids == "" {
		t.Fatalf("no process %q on machine %s", pattern, m.Name)
	}
	return pids
}

// What is left after the other side was killed at once is listed and removed by gc, and what belongs
// to a run that is alive is not.
func TestCollectDead(t *testing.T) {
	b := machinetest.New(t, machinetest.Spec{Name: "a"})
	far := b.Machine("a")
	dead, alive := newRun(t), newRun(t)
	m := connect(t, b, dead, "a")
	must.Get(agent.Start(t.Context(), m.User, dead, "a/client"))(t)
	live := connect(t, b, alive, "a")
	far.Run(t, "ip netns add tare-"+dead+"-x-a; ip -n tare-"+dead+"-x-a link set lo alias tare-"+dead+"; d=/var/tmp/tare-"+dead+"-x-machine; mkdir $d; ls -di $d | { read -r i f; echo tare "+dead+" $i; } >$d/.tare-run")
	// The stuck agent does not follow its guard, and the shell that would tidy up is gone before the guard is.
	far.Run(t, "kill -STOP"+pidsOf(t, far, "agent --run "+dead))
	far.Run(t, "kill -KILL"+pidsOf(t, far, "^sh .*"+dead))
	far.Run(t, "kill -KILL"+pidsOf(t, far, dead+" guard"))
	scale := os.Getenv(timelimit.Variable)
	t.Setenv(timelimit.Variable, "1")
	_ = m.Close(t.Context()) // it waits in vain for the stuck agent
	t.Setenv(timelimit.Variable, scale)
	var would []string
	for _, dry := range []bool{true, false} {
		lines, noRoot, err := machine.CollectDead(t.Context(), "a", machine.Address{Host: "a"}, b.Options(), dry)
		must.Do(t, err)
		t.Log(lines)
		must.EqualFor(t, "root's leftovers", "", noRoot)
		found := strings.Join(lines, "\n")
		must.ContainFor(t, fmt.Sprintf("dry %t", dry), found, "process ", "directory /var/tmp/tare-"+dead, "namespace tare-"+dead)
		for _, line := range lines {
			if !strings.HasSuffix(line, " of run "+dead) {
				t.Errorf("dry %t: %q", dry, line)
			}
		}
		if dry {
			would = strings.Split(strings.ReplaceAll(found, "would remove ", "removed "), "\n")
		} else {
			must.EqualFor(t, "removed, as the dry run said", would, lines)
		}
	}
	if found := left(t, far); strings.Contains(found, dead) || !strings.Contains(found, alive) {
		t.Errorf("left after gc:\n%s", found)
	}
	runsAgent(t, live)
	closed(t, live)
	gone(t, far)
}
