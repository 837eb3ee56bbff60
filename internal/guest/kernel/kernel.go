// Package kernel finds a distribution's kernel on this machine, or in an unpacked package, and the
// modules that a guest needs.
package kernel

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kernel is a kernel to boot.
type Kernel struct {
	Image   string // path of the image that a boot loader uses
	Version string // as uname -r prints it
	Modules string // the directory of its modules
}

// ErrNone means that no kernel was found.
var ErrNone = errors.New("no kernel image with its modules")

// Find finds a kernel for a guest. at is an image or a directory: an unpacked package of a
// distribution, or the root of a system. There the image is in boot, or beside its modules, which
// are in lib/modules. Of several kernels it returns the one with "cloud" in its version, which
// boots fastest, else the newest.
func Find(at string) (Kernel, error) {
	info, err := os.Stat(at)
	if err != nil {
		return Kernel{}, fmt.Errorf("find a kernel: %w", err)
	}
	if !info.IsDir() {
		k, err := read(at, ancestors(at))
		if err != nil {
			return k, fmt.Errorf("use kernel %s: %w", at, err)
		}
		return k, nil
	}
	var images []string
	for _, where := range []string{"boot/vmlinuz*", "lib/modules/*/vmlinuz", "usr/lib/modules/*/vmlinuz"} {
		found, err := filepath.Glob(filepath.Join(at, where))
		if err != nil {
			return Kernel{}, err // only for a malformed pattern
		}
		images = append(images, found...)
	}
	var all []Kernel
	var why error
	for _, image := range images {
		k, err := read(image, []string{at})
		if err != nil {
			why = errors.Join(why, fmt.Errorf("use kernel %s: %w", image, err))
			continue
		}
		all = append(all, k)
	}
	if len(all) == 0 && why != nil {
		return Kernel{}, why
	}
	if len(all) == 0 {
		return Kernel{}, fmt.Errorf("%w below %s (boot/vmlinuz*, lib/modules)", ErrNone, at)
	}
	slices.SortStableFunc(all, func(a, b Kernel) int { return prefer(a.Version, b.Version) })
	return all[len(all)-1], nil
}

// ancestors returns the directories that could be the root of the system a file belongs to.
func ancestors(file string) []string {
	var out []string
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		out = append(out, dir)
		if dir == filepath.Dir(dir) {
			return out
		}
	}
}

func read(image string, roots []string) (Kernel, error) {
	k := Kernel{Image: image}
	f, err := os.Open(image)
	if err != nil {
		return k, err
	}
	defer f.Close()
	if k.Version, err = version(f); err != nil {
		return k, err
	}
	for _, root := range roots {
		for _, lib := range []string{"lib/modules", "usr/lib/modules"} {
			dir := filepath.Join(root, lib, k.Version)
			if info, err := os.Stat(filepath.Join(dir, "kernel")); err == nil && info.IsDir() {
				k.Modules = dir
				return k, nil
			}
		}
	}
	return k, fmt.Errorf("there are no modules of its version in lib/modules/%s: %w", k.Version, fs.ErrNotExist)
}

// The offsets in an x86 image of its magic number and, less 0x200, of its version
// (Documentation/arch/x86/boot.rst of the kernel).
const (
	magicAt, magic = 0x202, "HdrS"
	versionAt      = 0x20e
	versionBase    = 0x200
	longestVersion = 256
)

// version reads the version of an image.
func version(image io.ReaderAt) (string, error) {
	header := make([]byte, versionAt+2)
	if _, err := image.ReadAt(header, 0); err != nil {
		return "", fmt.Errorf("it is too short for a kernel: %w", err)
	}
	if string(header[magicAt:magicAt+len(magic)]) != magic {
		return "", errors.New("it is not a bzImage of an x86 kernel")
	}
	text := make([]byte, longestVersion)
	n, err := image.ReadAt(text, versionBase+int64(binary.LittleEndian.Uint16(header[versionAt:])))
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	name, _, ends := strings.Cut(string(text[:n]), "\x00")
	fields := strings.Fields(name)
	if !ends || len(fields) == 0 || strings.Trim(fields[0], ".") == "" || strings.ContainsFunc(fields[0], notInVersion) {
		return "", errors.New("it has no version")
	}
	return fields[0], nil
}

// notInVersion reports whether a character is in no version: a version is also the name of a
// directory, and is printed.
func notInVersion(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !letter && (r < '0' || r > '9') && !strings.ContainsRune("._+~-", r)
}

// prefer orders versions, the preferred one last.
func prefer(a, b string) int {
	if c := strings.Contains(a, "cloud"); c != strings.Contains(b, "cloud") {
		if c {
			return 1
		}
		return -1
	}
	x, y := numbers(a), numbers(b)
	return cmp.Or(slices.Compare(x, y), strings.Compare(a, b))
}

// numbers returns the numbers in a version, in order.
func numbers(version string) []int {
	var out []int
	for _, part := range strings.FieldsFunc(version, func(r rune) bool { return r < '0' || r > '9' }) {
		n := 0
		for _, digit := range part[:min(len(part), 9)] {
			n = 10*n + int(digit-'0')
		}
		out = append(out, n)
	}
	return out
}
