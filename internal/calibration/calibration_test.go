package calibration

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// burn, set in the environment, makes this program a neighbour that takes CPU time until it is ended.
const burn = "TARE_TEST_BURN"

func TestMain(m *testing.M) {
	if os.Getenv(burn) != "" {
		for range uint64(1) << 40 { // ends by itself, if nobody does it
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// checkForm checks that all facts are there, in order, each with a value in its unit or with a reason.
func checkForm(t *testing.T, facts []result.Fact, known []string) {
	t.Helper()
	units := map[string]string{Syscall: "ns", Copy: "GB/s", Switch: "ns", Packet: "ns"}
	var names []string
	for _, f := range facts {
		names = append(names, f.Name)
		value := regexp.MustCompile(`^([1-9][0-9]{2,}|[1-9][0-9]\.[0-9]|[1-9]\.[0-9]{2}|0\.[0-9]{3,}) ` + units[f.Name] + `$`)
		unknown := strings.HasPrefix(f.Value, "unknown: ") && len(f.Value) > len("unknown: ")
		must.True(t, value.MatchString(f.Value) || unknown, "%s is %q, which is neither a value in %s nor unknown", f.Name, f.Value, units[f.Name])
		for _, k := range known {
			must.True(t, f.Name != k || !unknown, "%s is %s", f.Name, f.Value)
		}
	}
	if got, want := strings.Join(names, " "), strings.Join([]string{Syscall, Copy, Switch, Packet}, " "); got != want {
		t.Errorf("facts %s, want %s", got, want)
	}
}

// measurable are the facts that need no right, on Linux.
func measurable() []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	return []string{Syscall, Copy, Switch}
}

// The budget leaves 15 times 200 ms for the 2 ms that the fewest repetitions take.
func TestFacts(t *testing.T) { checkForm(t, measure(200*time.Millisecond), measurable()) }

// Beside two neighbours that take all the CPU time they get, every value is measured.
func TestAloneFactsBesideBurners(t *testing.T) {
	testneed.NotShort(t)
	self := must.Get(os.Executable())(t)
	for range 2 {
		c := exec.CommandContext(t.Context(), self)
		c.Env = append(os.Environ(), burn+"=1")
		must.Do(t, c.Start())
		defer func() { _, _ = c.Process.Kill(), c.Wait() }() // its end is what was asked for
	}
	facts := Facts()
	fmt.Println(facts)
	checkForm(t, facts, measurable())
}

// Every fact has a line in the documentation.
func TestFactsAreDocumented(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/facts.md"))(t)
	for _, f := range measure(0) {
		must.True(t, strings.Contains(string(page), "\n| `"+f.Name+"` | "), "%s has no line of its own in docs/facts.md", f.Name)
	}
}
