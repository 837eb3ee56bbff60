package drops_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// recorded reads drops.sha256: the hashes of the files, and the compiler.
func recorded(t *testing.T) (sums map[string]string, compiler string) {
	t.Helper()
	data, err := os.ReadFile("drops.sha256")
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
	sums, compiler := recorded(t)
	if compiler == "" {
		t.Error("drops.sha256 does not tell the compiler")
	}
	for _, name := range []string{"drops.bpf.c", "drops_bpfel.go", "drops_bpfel.o"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:]); got != sums[name] {
			t.Errorf("%s has changed since `make bpf`: %s, recorded %q", name, got, sums[name])
		}
	}
}

// If a compiler is installed, compiling the source yields the object: byte for byte with
// the recorded compiler, and with the same Go interface with another one.
func TestObjectCompilesFromItsSource(t *testing.T) {
	for _, tool := range []string{"clang", "llvm-strip", "make", "sha256sum", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s to compile the program again: %v", tool, err)
		}
	}
	_, compiler := recorded(t)
	version, err := exec.CommandContext(t.Context(), "clang", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	here, _, _ := strings.Cut(string(version), "\n")
	dir := t.TempDir()
	source, err := os.ReadFile("drops.bpf.c")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "drops.bpf.c"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "make", "-C", "../../..", "bpf", "BPF="+dir).CombinedOutput(); err != nil {
		t.Fatalf("make bpf: %v\n%s", err, out)
	}
	for _, name := range []string{"drops_bpfel.go", "drops_bpfel.o"} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case bytes.Equal(got, want):
		case strings.HasSuffix(name, ".o") && strings.TrimSpace(here) != compiler:
			t.Logf("%s is by %s: the instructions of %s, %d bytes for %d, are not compared", name, compiler, here, len(got), len(want))
		default:
			t.Errorf("%s is not what %s makes of drops.bpf.c: run `make bpf`", name, here)
		}
	}
}
