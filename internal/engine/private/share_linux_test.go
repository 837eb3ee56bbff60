package private_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/enginetest"
	"tare/internal/testkit/must"
)

// schedules returns the line of a process's control groups that has its CPU scheduling group: that
// of the cpu controller or of version 2.
func schedules(t *testing.T, pid string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("/proc", pid, "cgroup")))(t)
	startOnVersion2 := ""
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if slices.Contains(strings.Split(f[1], ","), "cpu") {
			return f[2]
		}
		if f[1] == "" {
			startOnVersion2 = f[2]
		}
	}
	return startOnVersion2
}

// agentOf finds the process of the agent in a place.
func agentOf(t *testing.T, place string) (pid string) {
	t.Helper()
	dirs := must.Get(filepath.Glob("/proc/[0-9]*"))(t)
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(string(line), "\x00")
		if err == nil && len(args) > 4 && args[1] == agent.Command && slices.Contains(args, place) {
			return filepath.Base(dir)
		}
	}
	t.Fatalf("no agent is in %s", place)
	return ""
}

// An agent in a container is moved to this process's CPU group on request. One with a CPU limit
// stays in the group with the limit.
func TestShareCPU(t *testing.T) {
	b := enginetest.New(t)
	leave := must.Get(private.JoinCPUGroup(b.ID))(t)
	t.Cleanup(func() {
		must.Equal(t, nil, leave())
		if own := schedules(t, "self"); strings.Contains(own, b.ID) {
			t.Errorf("this process is still in group %s", own)
		}
	})
	own := schedules(t, "self")
	if own == "/" {
		t.Fatal("this process is in no group: each session would have its own")
	}
	for _, c := range []struct {
		part string
		cpus float64
		held bool
	}{{"free", 0, false}, {"limited", 0.5, true}} {
		spec := b.Spec(c.part)
		spec.Limit.CPUs = c.cpus
		box := b.Container(t, spec)
		b.Agent(t, box, "a/"+c.part)
		before := schedules(t, agentOf(t, "a/"+c.part))
		if before == own || !strings.Contains(before, lab.Prefix) {
			t.Errorf("%s: the engine has put the agent into group %s: nothing is tested", c.part, before)
		}
		moved, held, err := b.ShareCPU(box)
		if err != nil || held != c.held || !held && moved != 1 {
			t.Errorf("%s: moved %d, held %t: %v", c.part, moved, held, err)
		}
		if after := schedules(t, agentOf(t, "a/"+c.part)); (after == own) == c.held {
			t.Errorf("%s: it is in group %s, and this process in %s", c.part, after, own)
		}
	}
	leavesGroups(t, agentOf(t, "a/free"))
}

// leavesGroups moves an agent that shares the CPU group of this process into all of its groups.
func leavesGroups(t *testing.T, pid string) {
	t.Helper()
	n := must.Get(strconv.Atoi(pid))(t)
	one := must.Get(private.OneGroup())(t)
	must.EqualFor(t, "before, with one group for all controllers", one, private.CheckLeftGroups(n) == nil)
	must.Do(t, private.LeaveGroups(n))
	must.Do(t, private.CheckLeftGroups(n))
	in := must.Get(os.ReadFile(filepath.Join("/proc", pid, "cgroup")))(t)
	own, err := os.ReadFile("/proc/self/cgroup")
	must.EqualFor(t, "its groups, and those of this process", []any{nil, string(own)}, []any{err, string(in)})
}

// Control groups that cannot be made leave no claim, and a claim of another keeps its groups.
func TestMakeGroupsFails(t *testing.T) {
	drivertest.NeedRoot(t, "to make control groups")
	claim := drivertest.Claim(t)
	refused := claim.ID + "-x\ny" // the kernel allows no such name of a group
	must.FailFor(t, "made", private.MakeGroups(refused))
	if left := traces(t, claim.ID); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	name := claim.ID + "-x"
	must.Do(t, private.MakeGroups(name))
	had := traces(t, claim.ID)
	must.FailFor(t, "made twice", private.MakeGroups(name))
	must.Equal(t, had, traces(t, claim.ID))
	must.Do(t, private.RemoveClaimed(name))
}

// A control group is made without a change of the group above it, which is the machine's: in version 2 its controllers are passed on as
// before.
func TestMakeGroupKeepsMachine(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{"cgroup.controllers": "cpuset cpu memory\n", "cgroup.subtree_control": "memory\n"}
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	must.Do(t, private.MakeGroup(root, "x"))
	for name, text := range files {
		must.EqualFor(t, name, text, string(must.Get(os.ReadFile(filepath.Join(root, name)))(t)))
	}
}
