package initramfs_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/guest/initramfs"
)

// object is a file as a linker makes it, as far as its loader reads it.
type object struct {
	class          elf.Class
	loader         string
	needs          []string
	runpath, rpath string
}

// encode writes an object: a header, segments for the loader's name and the list of what
// is needed, and the two sections of that list.
func (o object) encode() []byte {
	texts := []byte{0}
	text := func(s string) uint64 {
		at := len(texts)
		texts = append(append(texts, s...), 0)
		return uint64(at)
	}
	var tags []uint64
	for _, n := range o.needs {
		tags = append(tags, uint64(elf.DT_NEEDED), text(n))
	}
	if o.runpath != "" {
		tags = append(tags, uint64(elf.DT_RUNPATH), text(o.runpath))
	}
	if o.rpath != "" {
		tags = append(tags, uint64(elf.DT_RPATH), text(o.rpath))
	}
	tags = append(tags, uint64(elf.DT_NULL), 0)
	var list bytes.Buffer
	write := func(w *bytes.Buffer, v any) { _ = binary.Write(w, binary.LittleEndian, v) } // to memory
	for _, t := range tags {
		if o.class == elf.ELFCLASS32 {
			write(&list, uint32(t))
		} else {
			write(&list, t)
		}
	}
	interp := append([]byte(o.loader), 0)
	var out bytes.Buffer
	if o.class == elf.ELFCLASS32 { // nothing in it is ever looked for
		write(&out, elf.Header32{Ident: ident(o.class), Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_386), Version: 1, Ehsize: 52})
		return out.Bytes()
	}
	const header, segment, section = 64, 56, 64
	at := uint64(header + 2*segment)
	ends := []uint64{at, at + uint64(len(interp)), 0}
	ends[2] = ends[1] + uint64(len(texts))
	sections := ends[2] + uint64(list.Len())
	write(&out, elf.Header64{Ident: ident(o.class), Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1,
		Phoff: header, Shoff: sections, Ehsize: header, Phentsize: segment, Phnum: 2, Shentsize: section, Shnum: 3, Shstrndx: 1})
	kind := elf.PT_NULL
	if o.loader != "" {
		kind = elf.PT_INTERP
	}
	write(&out, elf.Prog64{Type: uint32(kind), Off: ends[0], Filesz: uint64(len(interp))})
	write(&out, elf.Prog64{Type: uint32(elf.PT_DYNAMIC), Off: ends[2], Filesz: uint64(list.Len())})
	out.Write(interp)
	out.Write(texts)
	out.Write(list.Bytes())
	write(&out, elf.Section64{})
	write(&out, elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: ends[1], Size: uint64(len(texts))})
	write(&out, elf.Section64{Type: uint32(elf.SHT_DYNAMIC), Off: ends[2], Size: uint64(list.Len()), Link: 1, Entsize: 16})
	return out.Bytes()
}

func ident(class elf.Class) (id [elf.EI_NIDENT]byte) {
	copy(id[:], elf.ELFMAG)
	id[elf.EI_CLASS], id[elf.EI_DATA], id[elf.EI_VERSION] = byte(class), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	return id
}

// cache writes one as ldconfig does: pairs of a library's name and its path. Those whose
// path begins with ! are for better CPUs.
func cache(pairs ...[2]string) []byte {
	out := append([]byte("glibc-ld.so.cache1.1"), make([]byte, 28)...)
	binary.LittleEndian.PutUint32(out[20:], uint32(len(pairs)))
	texts := []byte{}
	at := func(s string) uint32 {
		n := 48 + 24*len(pairs) + len(texts)
		texts = append(append(texts, s...), 0)
		return uint32(n)
	}
	for _, p := range pairs {
		e := make([]byte, 24)
		path, better := strings.CutPrefix(p[1], "!")
		binary.LittleEndian.PutUint32(e[4:], at(p[0]))
		binary.LittleEndian.PutUint32(e[8:], at(path))
		if better {
			e[23] = 0x40
		}
		out = append(out, e...)
	}
	return append(out, texts...)
}

// put makes a file, with the directories above it.
func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A program comes with its loader and its libraries, those with theirs, each found as
// the loader finds it; a directory with all in it; nothing twice.
func TestNeeds(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, content []byte) { put(t, filepath.Join(dir, name), content) }
	of := func(o object) []byte { o.class = elf.ELFCLASS64; return o.encode() }
	wrong := object{class: elf.ELFCLASS32}.encode()
	file("bin/prog", of(object{loader: dir + "/ld.so", needs: []string{"own.so", "cached.so", "usual.so"}, runpath: "$ORIGIN/../private:/nowhere"}))
	file("ld.so", of(object{}))
	file("private/own.so", of(object{needs: []string{"beside.so", "usual.so"}}))
	file("usual/own.so", of(object{}))
	file("private/beside.so", of(object{})) // not for own.so: a RUNPATH holds for one file
	file("usual/beside.so", of(object{}))
	file("cached/cached.so", of(object{needs: []string{"deep.so"}, rpath: "${ORIGIN}/more"}))
	file("better/cached.so", of(object{}))
	file("cached/more/deep.so", of(object{needs: []string{"deeper.so"}}))
	file("cached/more/deeper.so", of(object{})) // by the RPATH of what is above
	file("first/usual.so", wrong)
	file("usual/usual.so", of(object{needs: []string{dir + "/ld.so"}}))
	file("plugins/a.so", of(object{needs: []string{"usual.so"}}))
	file("plugins/conf/a.conf", []byte("load = yes\n"))
	file("ld.cache", cache([2]string{"cached.so", "!" + dir + "/better/cached.so"}, [2]string{"cached.so", dir + "/cached/cached.so"}))
	l := initramfs.Loader{Cache: dir + "/ld.cache", Dirs: []string{dir + "/first", dir + "/usual"}}
	got, err := l.Needs(dir+"/bin/prog", dir+"/plugins", dir+"/bin/prog")
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], dir+"/")
	}
	want := []string{"ld.cache", "bin/prog", "ld.so", "private/own.so", "usual/beside.so", "usual/usual.so", "cached/cached.so",
		"cached/more/deep.so", "cached/more/deeper.so", "plugins/a.so", "plugins/conf/a.conf"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var out bytes.Buffer
	a := initramfs.New(&out)
	for range 2 { // what is there already stays
		if err := a.Carry(l.Cache, dir+"/plugins/conf/a.conf"); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	lines, err := list(out.Bytes())
	if err != nil || !strings.HasPrefix(lines[len(lines)-1], "100600 "+dir[1:]+"/plugins/conf/a.conf ") || !strings.HasSuffix(lines[len(lines)-1], `"load = yes\n"`) {
		t.Errorf("carried is %q, %v", lines, err)
	}
}

// What is lacking or broken is said with who needs it.
func TestNeedsRefuses(t *testing.T) {
	of := func(o object) []byte { o.class = elf.ELFCLASS64; return o.encode() }
	stripped := of(object{needs: []string{"x.so"}})
	clear(stripped[0x28:0x30])
	clear(stripped[0x3c:0x40])
	lost := cache([2]string{"x.so", "/x.so"})
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"lacking": of(object{needs: []string{"none.so"}}), "loader": of(object{loader: "/nowhere/ld.so"}), "broken": []byte(elf.ELFMAG + "rest"),
		"stripped": stripped, "cache": lost[:60], "text": lost[:len(lost)-3], "script": []byte("#!/bin/sh\n"),
	} {
		put(t, filepath.Join(dir, name), content)
	}
	for _, tt := range []struct{ file, cache, want string }{
		{"lacking", "", "lacking into the guest: find library none.so in "},
		{"loader", "", "/nowhere/ld.so"},
		{"broken", "", "broken into the guest: find what it needs"},
		{"stripped", "", "its sections were taken away"},
		{"nothing", "", "nothing into the guest: stat"},
		{"script", "cache", "cache: it is cut off"},
		{"script", "text", "text: an entry points out of it"},
	} {
		l := initramfs.Loader{Dirs: []string{dir}}
		if tt.cache != "" {
			l.Cache = filepath.Join(dir, tt.cache)
		}
		got, err := l.Needs(filepath.Join(dir, tt.file))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s with cache %q: %q, %v; want %q", tt.file, tt.cache, got, err, tt.want)
		}
	}
	// A cache of another kind is no harm, and none is none.
	for _, c := range []string{"script", "nowhere"} {
		if got, err := (initramfs.Loader{Cache: filepath.Join(dir, c)}).Needs(filepath.Join(dir, "script")); err != nil || len(got) != 1 {
			t.Errorf("with cache %s: %q, %v", c, got, err)
		}
	}
	if err := initramfs.New(&bytes.Buffer{}).Carry(filepath.Join(dir, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("carry what is not there: %v", err)
	}
	if err := initramfs.New(&bytes.Buffer{}).Carry(dir); err == nil {
		t.Error("a directory was carried as a file")
	}
}

// The libraries of this machine's programs are those that its loader loads.
func TestNeedsAsLoaded(t *testing.T) {
	programs, tried := []string{"/bin/ls", "/usr/sbin/ovs-vswitchd", "/usr/lib/ipsec/charon"}, 0
	for _, program := range programs {
		if _, err := os.Stat(program); err != nil {
			t.Logf("not here: %v", err)
			continue
		}
		got, err := initramfs.Here().Needs(program)
		if err != nil {
			t.Error(err)
			continue
		}
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = []string{"LD_TRACE_LOADED_OBJECTS=1"} // the loader lists what it has loaded, and nothing is run
		said, err := cmd.Output()
		if err != nil || !strings.Contains(string(said), " => ") {
			t.Logf("%s is not loaded by glibc: %q, %v", program, said, err)
			continue
		}
		tried++
		var want []string
		for line := range strings.Lines(string(said)) {
			// name => path (address), or path (address); the kernel's own has no path
			if _, path, ok := strings.Cut(line, " => "); ok {
				line = path
			}
			if path, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(path, "/") {
				want = append(want, path)
			}
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s loads %s, which is not carried: %q", program, w, got)
			}
		}
		if len(got) > len(want)+3 { // itself, the cache, and the loader under two names
			t.Errorf("%s loads %d libraries, and %d files are carried: %q", program, len(want), len(got), got)
		}
	}
	if tried == 0 {
		t.Skipf("none of %q is here and tells by glibc's loader what it loads (scripts/setup-tests installs the last two)", programs)
	}
}
