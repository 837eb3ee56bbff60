package calibration

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"tare/internal/result"
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
		if !value.MatchString(f.Value) && !unknown {
			t.Errorf("%s is %q, which is neither a value in %s nor unknown", f.Name, f.Value, units[f.Name])
		}
		for _, k := range known {
			if f.Name == k && unknown {
				t.Errorf("%s is %s", f.Name, f.Value)
			}
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

func TestFacts(t *testing.T) { checkForm(t, measure(time.Millisecond), measurable()) }

// Beside two neighbours that take all the CPU time they get, every value is still measured.
func TestFactsBesideBurners(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c := exec.CommandContext(t.Context(), self)
		c.Env = append(os.Environ(), burn+"=1")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = c.Process.Kill(), c.Wait() }() // its end is what was asked for
	}
	checkForm(t, Facts(), measurable())
}

// Every fact has a line in the documentation.
func TestFactsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/facts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range measure(0) {
		if !strings.Contains(string(page), "\n| `"+f.Name+"` | ") {
			t.Errorf("%s has no line of its own in docs/facts.md", f.Name)
		}
	}
}

// The best of all repetitions counts; there is at least one, even with no time, and no more than the
// budget has place for.
func TestBest(t *testing.T) {
	values := []float64{5e-6, 3e-6, 4e-6}
	calls := 0
	got, err := best(0, func() (float64, error) {
		calls++
		return values[(calls-1)%len(values)], nil
	})
	if err != nil || got != 5e-6 || calls != 1 {
		t.Errorf("without time: %g after %d calls, %v", got, calls, err)
	}
	calls = 0
	got, err = best(time.Hour, func() (float64, error) {
		if calls++; calls > minRepetitions {
			return 0, errors.New("stopped")
		}
		return values[calls%len(values)], nil
	})
	if err == nil || got != 0 {
		t.Errorf("an error of a repetition: %g, %v", got, err)
	}
	// Repetitions that take longer than the budget end with the last budget, not with the last of minRepetitions.
	calls = 0
	got, err = best(time.Nanosecond, func() (float64, error) {
		calls++
		for start := time.Now(); time.Since(start) < maxBudgets*time.Nanosecond; {
		}
		return values[calls%len(values)], nil
	})
	if err != nil || calls != 1 || got != 3e-6 {
		t.Errorf("with long repetitions: %g after %d calls, %v", got, calls, err)
	}
	if got, err := best(0, func() (float64, error) { return 0, nil }); err == nil {
		t.Errorf("a clock that stands: %g", got)
	}
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{81.04: "81.0", 2040.4: "2040", 0.0123: "0.0123", 1: "1.00", 9.999: "10.0", 99.96: "100", 0.9999: "1.00", 999.6: "1000", 123456: "123456"} {
		if got := digits(v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
	if got := rate(256 << 10)(5e-6); got != "52.4 GB/s" {
		t.Errorf("256 KiB in 5 us are %s", got)
	}
	if got := nanoseconds(2.04e-6); got != "2040 ns" {
		t.Errorf("2.04 us are %s", got)
	}
}
