package tare_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// programs returns the eBPF programs, by name, with their directories.
func programs(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("internal", func(path string, _ fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(filepath.Base(path), ".bpf.c"); ok {
			found[name] = filepath.Dir(path)
		}
		return err
	})
	must.Require(t, err == nil && len(found) >= 2, "found the programs %v: %v", found, err)
	return found
}

// recorded reads the file of a program's checksums: the hashes of the files, and the
// compiler.
func recorded(t *testing.T, dir, name string) (sums map[string]string, compiler string) {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(dir, name+".sha256")))(t)
	sums = map[string]string{}
	for line := range strings.Lines(string(data)) {
		if c, ok := strings.CutPrefix(line, "# "); ok {
			compiler = strings.TrimSpace(c)
		} else if f := strings.Fields(line); len(f) == 2 {
			sums[f[1]] = f[0]
		}
	}
	return sums, compiler
}

// The committed object was compiled from the committed source: changing one without `make
// bpf` fails here.
func TestObjectIsOfItsSource(t *testing.T) {
	for program, dir := range programs(t) {
		sums, compiler := recorded(t, dir, program)
		must.True(t, compiler != "", "%s.sha256 does not tell the compiler", program)
		for _, suffix := range []string{".bpf.c", "_bpfel.go", "_bpfel.o"} {
			name := program + suffix
			data := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
			sum := sha256.Sum256(data)
			must.EqualFor(t, fmt.Sprintf("%s has changed since `make bpf`", name), sums[name], hex.EncodeToString(sum[:]))
		}
	}
}

// If a compiler is installed, compiling a source yields the object: byte for byte with
// the recorded compiler, and with the same Go interface with another one.
func TestReleaseObjects(t *testing.T) {
	testneed.NotShort(t)
	for _, tool := range []string{"clang", "llvm-strip", "make", "sha256sum", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			testneed.Missing(t, testneed.Compiler, err)
		}
	}
	version := must.Get(exec.CommandContext(t.Context(), "clang", "--version").Output())(t)
	here, _, _ := strings.Cut(string(version), "\n")
	for program, dir := range programs(t) {
		t.Run(program, func(t *testing.T) { compiles(t, program, dir, strings.TrimSpace(here)) })
	}
}

// compiles compiles a program with the compiler here and compares the result.
func compiles(t *testing.T, program, dir, here string) {
	t.Helper()
	_, compiler := recorded(t, dir, program)
	made := t.TempDir()
	source := must.Get(os.ReadFile(filepath.Join(dir, program+".bpf.c")))(t)
	must.Do(t, os.WriteFile(filepath.Join(made, program+".bpf.c"), source, 0o600))
	if out, err := exec.CommandContext(t.Context(), "make", "bpf-"+program, "BPF="+made).CombinedOutput(); err != nil {
		t.Fatalf("make bpf-%s: %v\n%s", program, err, out)
	}
	for _, name := range []string{program + "_bpfel.go", program + "_bpfel.o"} {
		want := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		got := must.Get(os.ReadFile(filepath.Join(made, name)))(t)
		switch {
		case bytes.Equal(got, want):
		case strings.HasSuffix(name, ".o") && here != compiler:
			t.Logf("%s is by %s: the instructions of %s, %d bytes for %d, are not compared", name, compiler, here, len(got), len(want))
		default:
			t.Errorf("%s is not what %s makes of %s.bpf.c: run `make bpf`", name, here, program)
		}
	}
}
