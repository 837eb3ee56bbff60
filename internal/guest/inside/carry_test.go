//go:build linux

package inside_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tare/internal/guest/initramfs"
	"tare/internal/testkit/testneed"
)

// The dynamic linker of glibc and the cache by which it finds libraries (ld.so(8)).
const (
	loader = "/lib64/ld-linux-x86-64.so.2"
	cached = "/etc/ld.so.cache"
)

// needs returns files of this machine with the libraries that they need, as listed by the dynamic
// linker, without those for better CPUs than a guest's.
func needs(t *testing.T, files []string) []string {
	t.Helper()
	if len(files) == 0 {
		return nil
	}
	list := append([]string{loader, cached}, files...)
	for _, f := range files {
		object, err := elf.Open(f)
		if err != nil {
			continue // not a program; carry reports if it is missing
		}
		static := !slices.ContainsFunc(object.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_DYNAMIC })
		object.Close()
		if static {
			continue
		}
		said, err := exec.CommandContext(t.Context(), loader, "--glibc-hwcaps-mask", "none", "--list", f).CombinedOutput()
		if err != nil || strings.Contains(string(said), "not found") {
			t.Fatalf("copy %s into the guest: list its libraries: %v\n%s", f, err, said)
		}
		for line := range strings.Lines(string(said)) {
			// name => path (address), or path (address); the kernel's own has no path
			if _, path, ok := strings.Cut(line, " => "); ok {
				line = path
			}
			if path, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(path, "/") {
				list = append(list, path)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// carry copies a file of this machine to the same path in the archive.
func carry(a *initramfs.Archive, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return a.File(strings.TrimPrefix(path, "/"), uint32(info.Mode().Perm()), f, info.Size())
}

// A program is copied with its loader and all its libraries.
func TestNeeds(t *testing.T) {
	if _, err := os.Stat(loader); err != nil {
		testneed.Missing(t, testneed.Other, err)
	}
	got := needs(t, []string{"/bin/ls", "/bin/ls", "/etc/passwd"})
	for _, want := range []string{"/bin/ls", "/etc/passwd", loader, cached} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not copied: %q", want, got)
		}
	}
	if !slices.ContainsFunc(got, func(f string) bool { return strings.Contains(f, "/libc.so.") }) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("copied are %q", got)
	}
}
