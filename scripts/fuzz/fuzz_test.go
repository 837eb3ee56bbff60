//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// The tests' own program takes the place of this command as a worker.
func TestMain(m *testing.M) {
	if isWorker() {
		os.Exit(work())
	}
	os.Exit(m.Run())
}

const module = "module example.invalid/fuzzed\n\ngo 1.26.0\n"

// source has a target that passes, one with a finding, two that take too much memory, and one
// that tries no input.
const source = `package fuzzed

import (
	"runtime"
	"testing"
)

func FuzzFine(f *testing.F) {
	f.Add([]byte("a"))
	f.Fuzz(func(*testing.T, []byte) {})
}

func FuzzFails(f *testing.F) {
	f.Add([]byte("a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != 1 {
			t.Fatal("a finding")
		}
	})
}

func FuzzFills(f *testing.F) { fill(f, 300<<20) }

func FuzzFillsMore(f *testing.F) { fill(f, 2<<30) }

func fill(f *testing.F, n int) {
	f.Add([]byte("a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != 1 {
			all := make([]byte, n)
			for i := 0; i < len(all); i += 4096 {
				all[i] = 1
			}
			runtime.KeepAlive(all)
		}
	})
}

func FuzzSkips(f *testing.F) { f.Skip("without input") }
`

// A target with a finding, one that takes more memory than it may and one that tries nothing fail
// the whole; one without a finding does not.
func TestReleaseFuzz(t *testing.T) {
	testneed.NotShort(t) // it builds the targets
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": module, "fuzzed_test.go": source, "fuzzed.go": "// Package fuzzed is empty.\npackage fuzzed\n"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Chdir(dir)
	all, err := find(".")
	if err != nil || len(all) != 5 {
		t.Fatalf("%v: %v", err, all)
	}
	b := binaries{dir: t.TempDir(), built: map[string]string{}}
	want := map[string]string{"FuzzFine": "", "FuzzFails": "a finding", "FuzzFills": "MB of memory; at most 256", "FuzzFillsMore": "memory", "FuzzSkips": "no input"}
	for _, a := range all {
		a.binary = must.Get(b.of(t.Context(), a.dir))(t)
		why := want[a.name]
		got, err := a.run(t.Context(), time.Second, t.TempDir())
		// On a busy machine a second may be a single input: the time grows until the one that shows it was tried.
		for limit := 2 * time.Second; (why != "" && err == nil || got.inputs == 0 && (why == "" || !strings.Contains(err.Error(), why))) && limit < 2*time.Minute; limit *= 2 {
			got, err = a.run(t.Context(), limit, t.TempDir())
		}
		switch {
		case why == "" && (err != nil || got.inputs == 0 || got.peak == 0):
			t.Errorf("%s: %v, %+v", a, err, got)
		case why != "" && (err == nil || !strings.Contains(err.Error(), why)):
			t.Errorf("%s: %v; want %q, %+v", a, err, why, got)
		}
	}
}
