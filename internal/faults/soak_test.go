//go:build linux

package faults

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/store"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testns"
)

// soakKinds are the workloads of a long run, with messages so large that few suffice for the proof of a trial. Only
// those of names are small.
var soakKinds = []string{
	"tcp_stream, duration: 300ms",
	"tcp_rr, request_size: 32KiB, response_size: 32KiB, duration: 100ms",
	"tcp_crr, request_size: 32KiB, response_size: 32KiB, duration: 100ms",
	"udp_stream, duration: 100ms",
	"udp_rr, request_size: 1400, response_size: 1400, duration: 200ms",
	"tcp_dns, duration: 300ms",
	"udp_dns, duration: 300ms",
}

// soakBlocks returns how many blocks of a long run have a number of trials, in two modes.
func soakBlocks(trials int) int { return max(2, trials/(2*len(soakKinds))) }

// soakText is a study of many short trials of every kind of traffic.
func soakText(trials int) string {
	text := fmt.Sprintf("name: soak\nseed: 1\nblocks: %d\nsettle: 0s\nmodes: [host, netns/bridge]\ninvalid: {steal: off, others: off, cpu_wait: off, unsettled: off, most: off}\nworkloads:\n", soakBlocks(trials))
	for _, k := range soakKinds {
		text += "  - {workload: " + k + ", warmup: 0s}\n"
	}
	return text
}

// use is what the processes of a run use at a moment.
type use struct {
	trials            int     // that had finished
	controller, agent int     // resident memory that is not of files, bytes; of the largest agent
	files, agentFiles int     // descriptors of the controller, and of all agents
	cpu               float64 // time of the controller, seconds
	spaces            int     // named network namespaces
	agents            int
}

// memory is the resident memory of a process without its files, in bytes.
func memory(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "RssAnon:" {
			kB, _ := strconv.Atoi(f[1])
			return kB << 10
		}
	}
	return 0
}

func files(pid int) int {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0
	}
	return len(open)
}

// cpuTime is that of a process without its children, in seconds.
func cpuTime(pid int) float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in brackets may contain anything. The fields are utime and stime of proc(5).
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(f) < 13 {
		return 0
	}
	const ticks = 100 // per second, of every Linux
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return float64(user+system) / ticks
}

// use reads it.
func (r *tested) use() use {
	u := use{trials: bytes.Count(r.finished(), []byte("\n")), controller: memory(r.cmd.Process.Pid), files: files(r.cmd.Process.Pid)}
	for _, p := range r.ours(isAgent) {
		u.agent = max(u.agent, memory(p.pid))
		u.agentFiles += files(p.pid)
		u.agents++
	}
	u.cpu = cpuTime(r.cmd.Process.Pid)
	names, _ := filepath.Glob("/run/netns/*") // the pattern is valid
	u.spaces = len(names)
	return u
}

// watched runs a study to its end and reads every now and then what it uses.
func watched(t *testing.T, study string, every time.Duration) (r *tested, all []use) {
	t.Helper()
	home := must.Get(os.MkdirTemp(testns.Scratch, ""))(t)
	t.Cleanup(func() { os.RemoveAll(home) })
	r = &tested{t: t, home: home, out: filepath.Join(home, "run"), rng: rand.New(rand.NewPCG(1, 0))}
	must.Do(t, os.WriteFile(filepath.Join(home, "study.yaml"), []byte(study), 0o644))
	r.start(r.args()...)
	for {
		select {
		case <-r.ended:
			if code := r.wait(); code != 0 {
				t.Fatalf("exit code %d\n%s", code, r.stderr())
			}
			return r, all
		case <-time.After(every):
			if u := r.use(); u.trials > 0 {
				all = append(all, u)
			}
		}
	}
}

// A long run uses no more memory, descriptors, namespaces and CPU time for a trial in the end
// than soon after its start, and has every trial once.
func TestFaultsSoak(t *testing.T) {
	if !onMachine(t) {
		return
	}
	before := take(t)
	r, all := watched(t, soakText(*soakTrials), 100*time.Millisecond)
	must.EqualFor(t, "left", "", before.settled(t))
	_, trials := must.Get2(read(r.out))(t)
	n := len(trials)
	count := map[result.TrialStatus]int{}
	times := map[string]int{} // how often a trial is there that counts
	for _, tr := range trials {
		count[tr.Status]++
		if tr.Status == result.TrialOK && !tr.Aside() {
			times[fmt.Sprint(tr.Block, tr.Mode, tr.Workload)]++
		}
	}
	want := 2 * len(soakKinds) * soakBlocks(*soakTrials)
	must.Equal(t, []int{want, 1}, []int{len(times), slices.Max(slices.Collect(maps.Values(times)))})
	// A trial that failed was repeated: some do on a busy machine.
	if count[result.TrialOK]+count[result.TrialFailed] != n || count[result.TrialFailed] > n/10 {
		t.Errorf("of %d trials: %v\n%s", n, count, failures(t, r.out))
	}
	// After a fifth everything is warm. After a failure agents are missing for a moment.
	const agents = 4
	all = slices.DeleteFunc(all, func(u use) bool { return u.agents != agents })
	early := slices.DeleteFunc(slices.Clone(all), func(u use) bool { return u.trials < n/5 || u.trials > 2*n/5 })
	late := slices.DeleteFunc(slices.Clone(all), func(u use) bool { return u.trials < 4*n/5 || u.trials >= n })
	if len(early) < 10 || len(late) < 10 {
		t.Fatalf("the run was read %d and %d times only", len(early), len(late))
	}
	between := float64(median(late, func(u use) int { return u.trials }) - median(early, func(u use) int { return u.trials }))
	fmt.Printf("\n%d trials in %s, %.0f kB of %s\n\n| | from a fifth to two fifths | in the last fifth | growth per trial |\n|---|---|---|---|\n",
		n, trials[n-1].Started.Sub(trials[0].Started).Round(time.Second), float64(len(r.finished()))/1e3, store.TrialsFile)
	for _, m := range []struct {
		name   string
		of     func(use) int
		slack  int     // bytes, of the collector of garbage
		atMost float64 // bytes per trial
	}{
		// The controller keeps about 300 bytes of a trial, but more stays resident; see
		// README.md.
		{"controller, resident memory", func(u use) int { return u.controller }, 4 << 20, 5000},
		{"largest agent, resident memory", func(u use) int { return u.agent }, 2 << 20, 1000},
	} {
		a, b := median(early, m.of), median(late, m.of)
		fmt.Printf("| %s | %.1f MB | %.1f MB | %.0f B |\n", m.name, float64(a)/1e6, float64(b)/1e6, float64(b-a)/between)
		if float64(b-a) > m.atMost*between+float64(m.slack) {
			t.Errorf("%s grew by %.0f B per trial", m.name, float64(b-a)/between)
		}
	}
	for _, m := range []struct {
		name  string
		of    func(use) int
		slack int // what a leak in each hundredth trial would exceed
	}{
		{"descriptors of the controller", func(u use) int { return u.files }, 2},
		{"descriptors of all agents", func(u use) int { return u.agentFiles }, 2},
		{"named network namespaces", func(u use) int { return u.spaces }, 0},
	} {
		// Most are open for a moment only, and agents that have just started lack some.
		a, b := quantile(early, 0.1, m.of), quantile(late, 0.1, m.of)
		fmt.Printf("| %s | %d | %d | |\n", m.name, a, b)
		if b > a+m.slack {
			t.Errorf("%s: %d, then %d", m.name, a, b)
		}
	}
	first, last := cpuPerTrial(early), cpuPerTrial(late)
	fmt.Printf("| CPU time of the controller per trial | %.1f ms | %.1f ms | |\n", 1e3*first, 1e3*last)
	// Of a cost that grows with the trials before, the last is three times the first. Of any, load changes caches and waits.
	if last > 2.5*first {
		t.Errorf("a trial took %.1f ms of the controller's CPU time, then %.1f ms", 1e3*first, 1e3*last)
	}
	first, last = overhead(trials[:n/10]), overhead(trials[n-n/10:])
	fmt.Printf("| overhead of a trial, first and last tenth | %.1f ms | %.1f ms | |\n\n", 1e3*first, 1e3*last)
}

// cpuPerTrial is the CPU time of the controller for each trial that ended meanwhile, in seconds.
func cpuPerTrial(all []use) float64 {
	from, to := all[0], all[len(all)-1]
	return (to.cpu - from.cpu) / float64(max(to.trials-from.trials, 1))
}

// overhead is the median time of trials beside their traffic, in seconds.
func overhead(trials []result.Trial) float64 {
	var all []float64
	for _, tr := range trials {
		all = append(all, tr.Elapsed-tr.Window-tr.Warmup)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func median(all []use, of func(use) int) int { return quantile(all, 0.5, of) }

// quantile is the value that the share q of all values does not exceed.
func quantile(all []use, q float64, of func(use) int) int {
	var values []int
	for _, u := range all {
		values = append(values, of(u))
	}
	slices.Sort(values)
	return values[int(q*float64(len(values)))]
}
