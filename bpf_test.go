package tare_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testneed"
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
	if err != nil || len(found) < 2 {
		t.Fatalf("found the programs %v: %v", found, err)
	}
	return found
}

// recorded reads the file of a program's checksums: the hashes of the files, and the
// compiler.
func recorded(t *testing.T, dir, name string) (sums map[string]string, compiler string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name+".sha256"))
	if err != nil {
		t.Fatal(err)
	}
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
		if compiler == "" {
			t.Errorf("%s.sha256 does not tell the compiler", program)
		}
		for _, suffix := range []string{".bpf.c", "_bpfel.go", "_bpfel.o"} {
			name := program + suffix
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(data)
			if got := hex.EncodeToString(sum[:]); got != sums[name] {
				t.Errorf("%s has changed since `make bpf`: %s, recorded %q", name, got, sums[name])
			}
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
	version, err := exec.CommandContext(t.Context(), "clang", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
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
	source, err := os.ReadFile(filepath.Join(dir, program+".bpf.c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(made, program+".bpf.c"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "make", "bpf-"+program, "BPF="+made).CombinedOutput(); err != nil {
		t.Fatalf("make bpf-%s: %v\n%s", program, err, out)
	}
	for _, name := range []string{program + "_bpfel.go", program + "_bpfel.o"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(made, name))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case bytes.Equal(got, want):
		case strings.HasSuffix(name, ".o") && here != compiler:
			t.Logf("%s is by %s: the instructions of %s, %d bytes for %d, are not compared", name, compiler, here, len(got), len(want))
		default:
			t.Errorf("%s is not what %s makes of %s.bpf.c: run `make bpf`", name, here, program)
		}
	}
}
