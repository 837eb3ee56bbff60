//go:build linux

package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testns"
)

// Whatever goes wrong during a run, at whatever moment: each trial that had finished is
// readable and counts once, the exit code is that of what happened, the run can be continued
// and then holds what an undisturbed run of its seed holds, and nothing is left of it.
func TestFaults(t *testing.T) {
	if !onMachine(t) {
		return
	}
	repeat := fmt.Sprintf("-v -faults %d -seed %d -kinds '%s' -modes '%s'", *faultCount, *faultSeed, *faultKinds, *faultModes)
	tryAll(t, casesOf(t), repeat)
}

// The most common of these faults, each in a run that it certainly meets.
func TestEightFaults(t *testing.T) {
	if !onMachine(t) {
		return
	}
	var cases []attempt
	for i, c := range []struct {
		fault, group string
		after        int
	}{
		{"controller-kill", "netns", 5}, {"controller-int", "netns", 4}, {"controller-hup", "netns", 1}, {"agent-kill", "netns", 5},
		{"disk-full", "netns", 4}, {"gc-beside", "netns", 2}, {"link-removed", "netns", 4}, {"dockerd-kill", "docker", 3},
	} {
		f := kinds()[slices.IndexFunc(kinds(), func(f fault) bool { return f.name == c.fault })]
		g := groups()[slices.IndexFunc(groups(), func(g group) bool { return g.name == c.group })]
		cases = append(cases, attempt{fault: f, group: g, mode: g.modes[0], seed: uint64(i), after: c.after})
	}
	tryAll(t, cases, "-v")
}

// A run that is held goes no further than two lines, until it is released.
func TestHeldRun(t *testing.T) {
	r := &tested{t: t, home: t.TempDir(), holdAt: 2, before: []string{"sh", "-c", "for i in 1 2 3 4 5 6 7; do echo 'block 1/7 trial of host' >&2; done; : >ended"}}
	r.start()
	defer r.release()
	must.True(t, r.until(func() bool { return r.steps() >= 2 }), "it printed:\n%s", r.stderr())
	time.Sleep(50 * time.Millisecond) // a program that is not held would have ended by then
	must.True(t, errors.Is(must.Err(os.Stat(filepath.Join(r.home, "ended"))), fs.ErrNotExist), "it has ended")
	r.release()
	must.Equal(t, []int{0, 7}, []int{r.wait(), r.steps()})
}

// tryAll tries the cases, or only the one that a flag asks for, and prints what became of them. The flags repeat
// choose the same cases.
func tryAll(t *testing.T, cases []attempt, repeat string) {
	t.Helper()
	h := &harness{references: map[string]reference{}, tally: map[string]*tally{}}
	for i, c := range cases {
		if *faultCase >= 0 && i != *faultCase {
			continue
		}
		t.Run(fmt.Sprintf("%d %s in %s", i, c.fault.name, c.mode), func(t *testing.T) {
			if c.group.needs != nil {
				c.group.needs(t)
			}
			h.count(c, t, func() outcome { return h.try(t, i, c) })
			if t.Failed() {
				t.Logf("to repeat: go test ./internal/faults -run '^%s$' %s -case %d", strings.Split(t.Name(), "/")[0], repeat, i)
			}
		})
	}
	h.print(t)
}

// attempt is one fault in one run. All that is random in it follows from its seed.
type attempt struct {
	fault fault
	group group
	mode  string
	seed  uint64
	after int // the step at which the run is held until the fault is there; 0: it and a delay are random, and the run may end before
}

// casesOf chooses the faults to try. Every kind comes equally often, with its groups of modes
// by their shares.
func casesOf(t *testing.T) (cases []attempt) {
	t.Helper()
	chosen := chosenGroups(t)
	names := strings.Split(*faultKinds, ",")
	kinds := slices.DeleteFunc(kinds(), func(f fault) bool {
		return *faultKinds != "" && !slices.Contains(names, f.name) || !slices.ContainsFunc(chosen, f.meets)
	})
	if len(kinds) == 0 {
		t.Fatalf("no kind of faults is called %q", *faultKinds)
	}
	for i := range *faultCount {
		round := rand.New(rand.NewPCG(*faultSeed, uint64(i/len(kinds))))
		f := kinds[round.Perm(len(kinds))[i%len(kinds)]]
		rng := rand.New(rand.NewPCG(*faultSeed, 1<<32+uint64(i)))
		var lots []group
		for _, g := range chosen {
			if f.meets(g) {
				lots = append(lots, slices.Repeat([]group{g}, g.share)...)
			}
		}
		g := lots[rng.IntN(len(lots))]
		cases = append(cases, attempt{fault: f, group: g, mode: g.modes[rng.IntN(len(g.modes))], seed: rng.Uint64()})
	}
	return cases
}

// harness keeps what the faults share.
type harness struct {
	references map[string]reference // by mode
	tally      map[string]*tally    // by kind of faults
}

// reference is what an undisturbed run of a mode holds, and how many steps it shows.
type reference struct {
	content content
	steps   int
}

// studySeed is the seed of all runs: the undisturbed run of a mode is then that of every
// disturbed one.
const studySeed = 3

// reference runs a mode undisturbed, once.
func (h *harness) reference(t *testing.T, c attempt) reference {
	t.Helper()
	if ref, ok := h.references[c.mode]; ok {
		return ref
	}
	before := take(t)
	r := prepared(t, c, "undisturbed")
	defer os.RemoveAll(r.home)
	r.start(r.args()...)
	if code := r.wait(); code != 0 {
		t.Fatalf("an undisturbed run of %s: exit code %d\n%s", c.mode, code, r.stderr())
	}
	if diff := before.settled(t); diff != "" {
		t.Fatalf("an undisturbed run of %s left (-before +after):\n%s", c.mode, diff)
	}
	ref := reference{contentOf(t, r.out), r.steps()}
	// On a busy machine a trial may be repeated.
	if want := blocks * 2 * len(c.group.workloads); len(ref.content.Trials) != want || len(ref.content.Void) > 0 {
		t.Fatalf("an undisturbed run of %s has %d of %d trials:\n%s", c.mode, len(ref.content.Trials), want, failures(t, r.out))
	}
	h.references[c.mode] = ref
	return ref
}

// prepared makes the directory of a run.
func prepared(t *testing.T, c attempt, name string) *tested {
	t.Helper()
	home := filepath.Join(testns.Scratch, name)
	must.Do(t, os.Mkdir(home, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(home, "study.yaml"), []byte(c.group.text(c.mode, studySeed)), 0o644))
	return &tested{t: t, home: home, out: filepath.Join(home, "run"), rng: rand.New(rand.NewPCG(c.seed, 0))}
}

// outcome is what became of a fault.
type outcome struct {
	late     bool // the run ended before
	void     bool // the fault was in the path, and the mode is void
	finished int  // trials that had finished
}

// try disturbs one run.
func (h *harness) try(t *testing.T, i int, c attempt) (out outcome) {
	ref := h.reference(t, c)
	r := prepared(t, c, fmt.Sprint("case-", i))
	defer func() {
		_ = run("umount", "-q", filepath.Join(r.home, "disk")) // of most there is none
		os.RemoveAll(r.home)
	}()
	if c.fault.prepare != nil {
		must.Do(t, c.fault.prepare(r))
	}
	before := take(t)
	after, delay := r.rng.IntN(ref.steps), r.between(0, 400*time.Millisecond)
	if c.after > 0 {
		after, delay, r.holdAt = c.after, 0, c.after
	}
	if c.fault.end == interrupted {
		// A program ends in order from the moment on in which it asked for the signals.
		after = max(after, 1)
	}
	t.Logf("%s: %s after step %d of %d", c.fault, delay.Round(time.Millisecond), after, ref.steps)
	if c.fault.waits {
		r.limits = "3"
	}
	r.start(r.args()...)
	if r.until(func() bool { return r.steps() >= after }) {
		time.Sleep(delay)
	}
	had := r.told()
	out.finished = strings.Count(string(had), "\n")
	err := c.fault.inject(r)
	r.release()
	out.late = errors.Is(err, errTooLate)
	if err != nil && (!out.late || c.after > 0) {
		t.Errorf("the fault failed: %v", err)
	}
	code := r.wait()
	t.Logf("%d trials had finished; exit code %d", out.finished, code)
	r.repair()
	if c.fault.end == killed {
		h.collect(r)
	}
	if diff := before.settled(t); diff != "" {
		t.Errorf("left (-before +after):\n%s\n%s", diff, r.stderr())
	}
	r.checkEnd(c.fault, code, out.late)
	r.checkKept(had)
	r.terminal = false
	r.resume()
	h.collect(r)
	r.checkKept(had)
	must.EqualFor(t, "left of the continued run", "", before.settled(t))
	got, want := contentOf(t, r.out), ref.content
	for _, mode := range got.Void {
		// A mode whose path was not what it should be stays void, whatever it is later.
		out.void = true
		want = want.without(mode)
	}
	got.Void = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the continued run (-undisturbed +continued):\n%s%s", diff, failures(t, r.out))
	}
	return out
}

// collect runs gc, which must succeed and then find nothing more.
func (h *harness) collect(r *tested) {
	r.t.Helper()
	for range 2 {
		if code, out := r.call("gc"); code != 0 {
			r.t.Errorf("gc: exit code %d\n%s", code, out)
		}
	}
}

// tally counts the faults of a kind.
type tally struct {
	tried, late, void, failed, finished int

	modes map[string]int
}

// count runs a case and adds it up.
func (h *harness) count(c attempt, t *testing.T, try func() outcome) {
	n := h.tally[c.fault.name]
	if n == nil {
		n = &tally{modes: map[string]int{}}
		h.tally[c.fault.name] = n
	}
	n.tried++
	n.modes[c.group.name]++
	ended := false
	defer func() {
		if t.Failed() || !ended {
			n.failed++
		}
	}()
	o := try()
	ended = true
	n.finished += o.finished
	if o.late {
		n.late++
	}
	if o.void {
		n.void++
	}
}

// print prints the table of README.md.
func (h *harness) print(t *testing.T) {
	t.Helper()
	var total tally
	fmt.Printf("\n| fault | runs | in modes | met the run | survived | of these, mode void | finished trials kept |\n|---|---|---|---|---|---|---|\n")
	for _, f := range kinds() {
		n := h.tally[f.name]
		if n == nil {
			continue
		}
		var in []string
		for _, name := range slices.Sorted(maps.Keys(n.modes)) {
			in = append(in, fmt.Sprintf("%s %d", name, n.modes[name]))
		}
		fmt.Printf("| `%s` | %d | %s | %d | %d | %d | %d |\n", f.name, n.tried, strings.Join(in, ", "), n.tried-n.late, n.tried-n.failed, n.void, n.finished)
		total.tried, total.late, total.failed = total.tried+n.tried, total.late+n.late, total.failed+n.failed
		total.void, total.finished = total.void+n.void, total.finished+n.finished
	}
	fmt.Printf("| all | %d | | %d | %d | %d | %d |\n\n", total.tried, total.tried-total.late, total.tried-total.failed, total.void, total.finished)
}
