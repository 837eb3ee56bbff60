//go:build linux

package inside_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	vm "tare/internal/guest"
	"tare/internal/guest/initramfs"
	"tare/internal/guest/kernel"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
	"tare/internal/version"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// Paths that this machine's kernel may lack work in a guest whose kernel has them: the same
// programs set them up, prove them against their graph, measure them, and tear them down.
func TestKernelPaths(t *testing.T) {
	k := must.Get(kernel.Find(drivertest.NeedGuest(t)))(t)
	tare := build(t, "build", "./cmd/tare")
	for _, g := range guests {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			g.needs(t, k)
			programs := map[string]string{"tare": tare}
			for _, tt := range g.tests {
				if programs[tt.program()] == "" {
					programs[tt.program()] = build(t, "test", "./"+tt.folder)
				}
			}
			m := g.boot(t, k, programs, shortStudy)
			for i, modes := range g.runs {
				measured(t, m, tare, studyPath(i), modes)
			}
			if code, said := in(t, m, "/bin/tare", "gc"); code != 0 || !strings.Contains(said, "nothing to remove") {
				t.Errorf("something remains in the guest: exit code %d\n%s", code, said)
			}
			for _, tt := range g.tests {
				t.Run(tt.name, func(t *testing.T) { tt.holds(t, m, programs[tt.program()]) })
			}
		})
	}
}

// What each mode costs beside the host, in a guest: the ratios of an emulated CPU.
func TestAloneKernelRatios(t *testing.T) {
	k := must.Get(kernel.Find(drivertest.NeedGuest(t)))(t)
	programs := map[string]string{"tare": build(t, "build", "./cmd/tare")}
	fmt.Printf("ratios to the host, with Linux %s and an emulated CPU, 95 %% intervals:\n| mode | tcp_stream, goodput | tcp_rr, transactions |\n|---|---|---|\n", k.Version)
	for _, g := range guests {
		t.Run(g.name, func(t *testing.T) {
			g.needs(t, k)
			m := g.boot(t, k, programs, longStudy)
			for i, modes := range g.runs {
				run, _ := runIn(t, m, studyPath(i))
				for _, mode := range modes[1:] {
					fmt.Printf("| `%s` | %s | %s |\n", mode.id, ratioOf(run, mode.name(), "goodput"), ratioOf(run, mode.name(), "transaction_rate"))
				}
			}
		})
	}
}

// What a boot redraws: the ratio of one mode in twenty boots of a guest, beside what the blocks of one boot predict.
func TestAloneBoots(t *testing.T) {
	const boots = 20
	k := must.Get(kernel.Find(drivertest.NeedGuest(t)))(t)
	programs := map[string]string{"tare": build(t, "build", "./cmd/tare")}
	g := guest{name: "boots", runs: [][]mode{{{id: "host"}, {id: "netns/ptp", modules: []string{"veth"}}}}}
	var ratios []float64 // logarithms
	var within float64   // mean variance of one of them, as the blocks of its boot predict it
	for boot := range boots {
		t.Run(fmt.Sprint(boot), func(t *testing.T) {
			run, _ := runIn(t, g.boot(t, k, programs, longStudy), studyPath(0))
			i := slices.IndexFunc(run.Cells, func(c result.Cell) bool {
				return c.Mode == "netns/ptp" && c.Metric == "transaction_rate" && c.RatioCI != nil
			})
			if i < 0 {
				t.Fatalf("no ratio with an interval: %+v", run.Cells)
			}
			c := run.Cells[i]
			se := math.Log(c.RatioCI[1]/c.RatioCI[0]) / 2 / stats.TQuantile(0.975, cmp.Or(c.DF, float64(c.N-1)))
			ratios, within = append(ratios, math.Log(*c.Ratio)), within+se*se/boots
			fmt.Printf("boot %d: %s\n", boot+1, ratioOf(run, "netns/ptp", "transaction_rate"))
		})
	}
	fmt.Printf("netns/ptp, tcp_rr, %d boots with Linux %s and an emulated CPU: the ratios vary by %.2f %%, the blocks of one boot predict %.2f %%\n",
		len(ratios), k.Version, 100*stat.StdDev(ratios, nil), 100*math.Sqrt(within))
}

// ratioOf is a mode's ratio to the host with its interval, or why there is none.
func ratioOf(run result.Run, mode, metric string) string {
	for _, c := range run.Cells {
		if c.Mode == mode && c.Metric == metric && c.Ratio != nil && c.RatioCI != nil {
			return fmt.Sprintf("%.2f (%.2f-%.2f)", *c.Ratio, c.RatioCI[0], c.RatioCI[1])
		}
	}
	for _, m := range run.Modes {
		if m.ID == mode && m.Status != result.ModeMeasured {
			return fmt.Sprintf("%s: %s", m.Status, m.Reason)
		}
	}
	return "unknown"
}

// needs skips the test where the kernel is too old for the guest's modes; see testneed.
func (g guest) needs(t *testing.T, k kernel.Kernel) {
	t.Helper()
	if g.least != "" && version.Older(k.Version, g.least) {
		testneed.Missing(t, testneed.Kernel, "Linux "+g.least+" or newer; this one is "+k.Version)
	}
}

// boot starts the guest with everything that its runs need; study gives the text of the study of each.
func (g guest) boot(t *testing.T, k kernel.Kernel, programs map[string]string, study func([]mode) string) *vm.Machine {
	t.Helper()
	l := drivertest.Lab(t, nil)
	s := vm.Spec{Run: l.Spec.Claim.ID, Label: g.name, Place: "the guest of " + g.name, Host: l.A.NS, Kernel: k, Accel: vm.TCG, Memory: cmp.Or(g.memory, 1024), Optional: optional}
	var carried []string
	for _, m := range slices.Concat(g.runs...) {
		s.Modules = append(s.Modules, m.modules...)
		if m.carried != nil {
			carried = append(carried, m.carried(t)...)
		}
	}
	for _, tt := range g.tests {
		s.Modules = append(s.Modules, tt.modules...)
		carried = append(carried, tt.carried...)
	}
	carried = needs(t, carried)
	s.AddFiles = func(a *initramfs.Archive) error {
		for _, path := range carried {
			if err := carry(a, path); err != nil {
				return fmt.Errorf("copy %s into the guest: %w", path, err)
			}
		}
		for name, path := range programs {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := a.Program("bin/"+name, f); err != nil {
				return err
			}
		}
		if g.engine {
			const group = "root:x:0:\n" // the owner of dockerd's socket
			if err := a.File("etc/group", 0o644, strings.NewReader(group), int64(len(group))); err != nil {
				return err
			}
			for _, name := range enginePrograms {
				if err := a.Link("bin/"+name, filepath.Join(currentEngine(t), name)); err != nil {
					return err
				}
			}
		}
		for i, modes := range g.runs {
			text := study(modes)
			if err := a.File(studyPath(i)[1:], 0o644, strings.NewReader(text), int64(len(text))); err != nil {
				return err
			}
		}
		return nil
	}
	m := must.Get(vm.Boot(t.Context(), s))(t)
	t.Cleanup(func() { must.Do(t, m.Close()) })
	t.Logf("handshake after %s", m.BootTime)
	must.Do(t, m.Configure(t.Context(), vm.Net{}))
	if g.engine {
		if code, said := in(t, m, "/bin/mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"); code != 0 {
			t.Fatalf("mount the control groups: exit code %d\n%s", code, said)
		}
	}
	return m
}

// program is the name of the tests of its package in the guest.
func (tt tested) program() string { return strings.ReplaceAll(tt.folder, "/", ".") }

// holds runs a test in the guest and on this machine.
func (tt tested) holds(t *testing.T, m *vm.Machine, program string) {
	args := []string{"-test.v", "-test.run", "^" + tt.run + "$"}
	code, said := in(t, m, append([]string{"/bin/" + tt.program()}, args...)...)
	if code != 0 || !strings.Contains(said, "--- PASS: "+tt.run) || strings.Contains(said, tt.missing) {
		t.Errorf("in the guest: exit code %d\n%s", code, said)
	}
	outside, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("on this machine: %v\n%s", err, outside)
	}
	t.Logf("this machine's kernel has it: %t", !bytes.Contains(outside, []byte(tt.missing)))
}

// studyPath is the path of the study file of one of the runs in a guest.
func studyPath(i int) string { return fmt.Sprintf("/study%d.yaml", i) }

// measured runs a study in the guest and checks its modes on this machine.
func measured(t *testing.T, m *vm.Machine, tare, study string, modes []mode) {
	t.Helper()
	run, notes := runIn(t, m, study)
	for _, got := range run.Modes {
		i := slices.IndexFunc(modes, func(m mode) bool { return m.name() == got.ID })
		if i < 0 {
			t.Errorf("the study has no mode %s", got.ID)
			continue
		}
		if got.Status != result.ModeMeasured {
			t.Errorf("in the guest %s is %s: %s", got.ID, got.Status, got.Reason)
			continue
		}
		drivertest.CheckGoldenPath(t, modes[i].drawing(), *got.Topology, got.Proof.Findings)
		outside, err := exec.CommandContext(t.Context(), tare, "modes", "--probe", modes[i].id).Output()
		if err != nil || !bytes.Contains(outside, []byte(" yes ")) && !bytes.Contains(outside, []byte(" unsupported ")) {
			t.Errorf("%s on this machine: %v\n%s", got.ID, err, outside)
		}
		t.Logf("%s: this machine's kernel has it: %t", got.ID, bytes.Contains(outside, []byte(" yes ")))
	}
	if len(run.Modes) != len(modes) || run.Trials.OK < 2*len(modes) {
		t.Errorf("%d of %d modes, %+v\n%s", len(run.Modes), len(modes), run.Trials, notes)
	}
}

// runIn runs a study in the guest, and returns the run and what was printed before it.
func runIn(t *testing.T, m *vm.Machine, study string) (run result.Run, notes string) {
	t.Helper()
	began := time.Now()
	code, said := in(t, m, "/bin/tare", "run", study, "--json", "--out", "/tmp"+study+"-run")
	t.Logf("the run took %s", time.Since(began).Round(100*time.Millisecond))
	at := strings.Index(said, "{\n")
	if at < 0 || code != 0 && code != 4 { // 4: measured, but not fit to judge
		t.Fatalf("exit code %d\n%s", code, said)
	}
	if err := json.NewDecoder(strings.NewReader(said[at:])).Decode(&run); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return run, said[:at]
}

// within bounds how long a program in the guest may take on a machine that does nothing else.
const within = 8 * time.Minute

// in runs a program in the guest.
func in(t *testing.T, m *vm.Machine, args ...string) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timelimit.Scaled(within))
	defer cancel()
	var out bytes.Buffer
	code, err := m.Exec(ctx, &out, args, timelimit.Variable+"="+os.Getenv(timelimit.Variable))
	if err != nil {
		t.Fatalf("%v: %v\n%s\n%s", args, err, &out, m.Console())
	}
	return code, out.String()
}

// build builds a program of this module, or the tests of one of its packages.
func build(t *testing.T, what, folder string) string {
	t.Helper()
	args, out := []string{what}, filepath.Join(t.TempDir(), "program")
	if what == "test" {
		args = append(args, "-c")
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "-o", out, folder)...)
	cmd.Dir, cmd.Env = drivertest.Root(t), append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", folder, err, text)
	}
	return out
}
