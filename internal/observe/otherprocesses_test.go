package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// proc is a made-up process: its times are in ticks of 10 ms.
type proc struct {
	pid, parent, started int
	name                 string
	user, system         int // of its own
	waited               int // of children that it waited for
	kernel               bool
	args                 []string
}

// procTree writes a procfs with these processes and no others.
func procTree(t *testing.T, root string, all ...proc) {
	t.Helper()
	old := must.Get(filepath.Glob(filepath.Join(root, "[0-9]*")))(t)
	for _, dir := range old {
		must.Do(t, os.RemoveAll(dir))
	}
	for _, p := range all {
		dir := filepath.Join(root, strconv.Itoa(p.pid))
		flags := 0x400000
		if p.kernel {
			flags |= kernelThread
		}
		stat := fmt.Sprintf("%d (%s) S %d 1 1 0 -1 %d 0 0 0 0 %d %d %d 0 20 0 1 0 %d 4096 100\n", p.pid, p.name, p.parent, flags, p.user, p.system, p.waited, p.started)
		place(t, dir, map[string]string{"stat": stat, "cmdline": strings.Join(p.args, "\x00") + "\x00"})
	}
}

func TestOthers(t *testing.T) {
	const id = "0123456789abcdef"
	idle := []proc{
		{pid: 1, name: "init", waited: 100},
		{pid: 2, name: "kthreadd", kernel: true},
		{pid: 9, parent: 2, name: "ksoftirqd/0", kernel: true},
		{pid: 40, parent: 1, name: "sh", user: 5},
		{pid: 50, parent: 40, name: "tare", user: 10},
		{pid: 51, parent: 50, name: "tare", user: 10, args: []string{"tare", "agent"}},
		{pid: 60, parent: 1, name: "containerd-shim"},
		{pid: 61, parent: 60, name: "tare", args: []string{"tare", "agent", "--run", id}},
		{pid: 62, parent: 61, name: "iperf3"},
		{pid: 70, parent: 1, name: "dockerd"},
		{pid: 71, parent: 70, name: "docker-proxy"},
		{pid: 80, parent: 1, name: "a) S 1 (b", user: 300},
		{pid: 90, parent: 1, name: "cron", user: 7000, system: 1000, waited: 50},
		{pid: 91, parent: 90, name: "job", user: 2000, started: 4},
	}
	change := func(edit func(map[int]*proc)) []proc {
		byPID := map[int]*proc{}
		for _, p := range idle {
			byPID[p.pid] = &p
		}
		edit(byPID)
		var out []proc
		for _, p := range byPID {
			out = append(out, *p)
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		after []proc
		want  float64 // CPU seconds
		words string
	}{
		{"nothing moves", idle, 0, ""},
		{"only what is the run's own, and the kernel", change(func(p map[int]*proc) {
			for _, pid := range []int{50, 51, 60, 61, 62, 70, 71, 9} {
				p[pid].user += 100
			}
		}), 0, ""},
		{"another program, with brackets in its name", change(func(p map[int]*proc) { p[80].user += 20; p[80].system += 15; p[40].user++ }), 0.36, "mostly a) S 1 (b"},
		{"one that came", change(func(p map[int]*proc) { p[99] = &proc{pid: 99, parent: 40, name: "cc1", user: 30, started: 77} }), 0.3, "mostly cc1"},
		{"one that came, with an agent's parent's number", change(func(p map[int]*proc) {
			p[91] = &proc{pid: 91, parent: 40, name: "cc1", user: 30, started: 77}
		}), 0.3, "mostly cc1"},
		{"short ones that their parent waited for", change(func(p map[int]*proc) { p[40].waited += 55 }), 0.55, "mostly sh"},
		// 2000 ticks of the job lie before the window.
		{"a long one that ended", change(func(p map[int]*proc) { delete(p, 91); p[90].waited += 2012 }), 0.12, "mostly cron"},
		{"a long one that ended without a parent's wait", change(func(p map[int]*proc) { delete(p, 91); p[80].user += 3 }), 0.03, "mostly a) S 1 (b"},
		{"an orphan that init waited for", change(func(p map[int]*proc) { delete(p, 90); delete(p, 91); p[1].waited += 7000 + 1000 + 50 + 2000 + 9 }), 0.09, "mostly init"},
		{"agents that ended", change(func(p map[int]*proc) { delete(p, 61); delete(p, 62) }), 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			o := NewOtherProcesses(root, Own{PID: 50, Run: id, Programs: []string{"dockerd", "docker-proxy"}})
			procTree(t, root, idle...)
			from := must.Get(o.Read())(t)
			procTree(t, root, tt.after...)
			to := must.Get(o.Read())(t)
			must.Equal(t, len(slices.DeleteFunc(slices.Clone(tt.after), func(p proc) bool { return p.kernel })), len(o.seen))
			got, gaps := to.Since(from)
			d := cmp.Diff(map[string]float64{"cpu": tt.want}, got)
			must.True(t, d == "" && gaps == nil, "gaps %v (-want +got):\n%s", gaps, d)
			words := to.(Explainer).Explain(from)["cpu"]
			must.True(t, words == tt.words, "says %q, want %q", words, tt.words)
		})
	}
}

// TestOtherProcessesUnknown: where not all of them can be seen, there is no figure.
func TestOtherProcessesUnknown(t *testing.T) {
	for name, tt := range map[string]struct {
		all  []proc
		want string
	}{
		"itself is not there": {[]proc{{pid: 1, name: "init"}}, "the run's own process (50) is not among them"},
		"others are hidden":   {[]proc{{pid: 50, name: "tare"}}, "are hidden"},
	} {
		root := t.TempDir()
		procTree(t, root, tt.all...)
		must.FailFor(t, name, must.Err(NewOtherProcesses(root, Own{PID: 50}).Read()), tt.want)
	}
	root := t.TempDir()
	place(t, filepath.Join(root, "50"), map[string]string{"stat": "50 (tare) S 1"})
	must.FailFor(t, "half a line was taken for a process", must.Err(NewOtherProcesses(root, Own{PID: 50}).Read()))
}

// TestOtherProcessesLive: a program of this test's own that works is its child, and so the
// run's own, unless the run is said to be another process.
func TestOtherProcessesLive(t *testing.T) {
	if _, err := NewOtherProcesses("/proc", Own{PID: os.Getpid()}).Read(); err != nil {
		testneed.Missing(t, testneed.Other, err)
	}
	me := must.Get(processes("/proc"))(t)[os.Getpid()]
	must.True(t, me.pid == os.Getpid() && me.parent == os.Getppid() && me.name != "" && !me.kernel, "this process is read as %+v", me)
}

func TestClock(t *testing.T) {
	now := time.Now()
	const window = 10 * time.Second
	for _, tt := range []struct {
		name string
		set  time.Duration // how far the clock of the day was set meanwhile
		want float64
	}{
		{"nothing", 0, 0},
		{"slewed to the most that is allowed", 5 * time.Millisecond, 0},
		{"set forward", 3 * time.Second, 3},
		{"set back", -time.Minute, 60},
	} {
		from := clockSample{forward: now, day: now.Round(0)}
		later := now.Add(window)
		to := clockSample{forward: later, day: later.Round(0).Add(tt.set)}
		got, gaps := to.Since(from)
		d := cmp.Diff(map[string]float64{"elapsed": 10, "step": tt.want}, got)
		must.True(t, d == "" && gaps == nil, "%s: gaps %v (-want +got):\n%s", tt.name, gaps, d)
	}
	s := must.Get(NewClock(nil).Read())(t)
	end, _ := NewClock(nil).Read()
	got, _ := end.Since(s)
	must.True(t, got["elapsed"] >= 0 && got["step"] == 0, "the system's clocks: %v", got)
}

func BenchmarkOthersRead(b *testing.B) {
	o := NewOtherProcesses("/proc", Own{PID: os.Getpid(), Run: "none"})
	for b.Loop() {
		if _, err := o.Read(); err != nil {
			testneed.Missing(b, testneed.Other, err)
		}
	}
}

// Classify distinguishes the relations in a fictitious process table.
func TestClassify(t *testing.T) {
	root := t.TempDir()
	for _, p := range []struct {
		pid, parent, name, flags string
		args                     []string
	}{
		{"1", "0", "init", "0", []string{"/sbin/init"}},
		{"2", "0", "ksoftirqd/0", "2097152", nil},
		{"10", "1", "tare", "0", []string{"tare", "run"}},
		{"11", "10", "exe", "0", []string{"/proc/self/exe", "agent", "--run", "ab12", "--at", "host@a"}},
		{"12", "11", "iperf3", "0", []string{"iperf3", "-s"}},
		{"13", "10", "dockerd", "0", []string{"dockerd"}},
		{"14", "13", "docker-proxy", "0", []string{"docker-proxy"}},
		{"20", "1", "exe", "0", []string{"/proc/self/exe", "agent", "--run", "cd34", "--at", "host@a"}}, // of another run
		{"30", "1", "tare", "0", []string{"/tare", "agent", "--run", "ab12", "--at", "x@b"}},            // in a container
	} {
		dir := filepath.Join(root, p.pid)
		stat := p.pid + " (" + p.name + ") S " + p.parent + " 0 0 0 -1 " + p.flags + " 0 0 0 0 1 1 0 0 20 0 1 0 5 0 0\n"
		place(t, dir, map[string]string{"stat": stat, "cmdline": strings.Join(p.args, "\x00") + "\x00"})
	}
	got := must.Get(Classify(root, Own{PID: 10, Run: "ab12"}))(t)
	want := map[int]Program{
		1: {"init", Unrelated}, 2: {"ksoftirqd/0", KernelThread}, 10: {"tare", Self}, 11: {"exe", Agent}, 12: {"iperf3", Agent},
		13: {"dockerd", Descendant}, 14: {"docker-proxy", Descendant}, 20: {"exe", Unrelated}, 30: {"tare", Agent},
	}
	must.Equal(t, want, got)
	must.FailFor(t, "no error without a process table", must.Err(Classify(t.TempDir(), Own{PID: 10})))
}
