package timelimit

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/testkit/must"
)

func TestFactorOfCPU(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		text string
		want int
	}{
		"emulated": {"processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: QEMU Virtual CPU version 2.5+\n", emulated},
		"real":     {"processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor\nflags\t: QEMU\n", 1},
		"none":     {"", 1},
	} {
		file := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(file, []byte(tt.text), 0o600))
		must.EqualFor(t, name, tt.want, factorOf(file))
	}
	must.EqualFor(t, "without a file", 1, factorOf(filepath.Join(dir, "nowhere")))
}

func TestFactorFromEnvironment(t *testing.T) {
	for value, want := range map[string]int{"": 1, "1": 1, "10": 10, "100": 100, "0": 1, "-3": 1, "101": 1, "2.5": 1, "x": 1} {
		if got := fromEnv(value); got != want {
			t.Errorf("%s=%q: %d, want %d", Variable, value, got, want)
		}
	}
	t.Setenv(Variable, "100") // more than that of any CPU
	must.EqualFor(t, "scaled", 100*time.Second, Scaled(time.Second))
	passed := append([]string{"tare", "agent"}, Arguments()...)
	t.Setenv(Variable, "")
	if got := Arguments(); got != nil {
		t.Errorf("without a factor: %q", got)
	}
	for _, args := range [][]string{{"tare", "run"}, passed} {
		must.Do(t, FromArguments(args))
	}
	if got := os.Getenv(Variable); got != "100" {
		t.Errorf("from %q: %q", passed, got)
	}
}
