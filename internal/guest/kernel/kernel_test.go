package kernel_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"tare/internal/guest/kernel"
	"tare/internal/testkit/must"
)

// image returns the part of a kernel image with its version.
func image(version string) []byte {
	b := make([]byte, 0x800)
	copy(b[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(b[0x20e:], 0x400)
	copy(b[0x600:], version+" (someone@somewhere) #1 SMP\x00")
	return b
}

// module returns a minimal ELF file with its dependencies.
func module(needs string) []byte {
	info := "license=GPL\x00depends=" + needs + "\x00name=x\x00"
	names := "\x00.modinfo\x00.shstrtab\x00"
	var b bytes.Buffer
	header := make([]byte, 64)
	copy(header, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(header[16:], 1)
	le.PutUint16(header[18:], 62)
	le.PutUint32(header[20:], 1)
	le.PutUint64(header[40:], uint64(64+len(info)+len(names)))
	le.PutUint16(header[52:], 64)
	le.PutUint16(header[58:], 64)
	le.PutUint16(header[60:], 3)
	le.PutUint16(header[62:], 2)
	b.Write(header)
	b.WriteString(info + names)
	b.Write(make([]byte, 64))
	for _, s := range [][4]int{{1, 1, 64, len(info)}, {10, 3, 64 + len(info), len(names)}} {
		section := make([]byte, 64)
		le.PutUint32(section, uint32(s[0]))
		le.PutUint32(section[4:], uint32(s[1]))
		le.PutUint64(section[24:], uint64(s[2]))
		le.PutUint64(section[32:], uint64(s[3]))
		b.Write(section)
	}
	return b.Bytes()
}

func compressed(t *testing.T, how string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch how {
	case "":
		return content
	case ".gz":
		w = gzip.NewWriter(&b)
	case ".xz":
		w, err = xz.NewWriter(&b)
	case ".zst":
		w, err = zstd.NewWriter(&b)
	}
	if err == nil {
		_, err = w.Write(content)
	}
	must.Do(t, err, w.Close())
	return b.Bytes()
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o600))
}

// system creates a directory with a kernel of each version, laid out as its package does.
func system(t *testing.T, versions ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, v := range versions {
		write(t, filepath.Join(dir, "boot/vmlinuz-"+v), image(v))
		write(t, filepath.Join(dir, "lib/modules", v, "kernel/net/a.ko"), module(""))
	}
	return dir
}

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		have []string
		want string
	}{
		{[]string{"6.1.0-9-amd64", "6.1.0-56-amd64", "6.1.0-10-amd64"}, "6.1.0-56-amd64"},
		{[]string{"6.1.0-56-cloud-amd64", "6.12.1-amd64"}, "6.1.0-56-cloud-amd64"},
		{[]string{"5.15.0-100-generic"}, "5.15.0-100-generic"},
	} {
		dir := system(t, tt.have...)
		got := must.Get(kernel.Find(dir))(t)
		must.EqualFor(t, fmt.Sprintf("of %v: %+v", tt.have, got), []string{tt.want, filepath.Join(dir, "lib/modules", tt.want)}, []string{got.Version, got.Modules})
		file := filepath.Join(dir, "boot/vmlinuz-"+tt.have[0])
		if got, err := kernel.Find(file); err != nil || got.Version != tt.have[0] || got.Image != file {
			t.Errorf("%s: %+v, %v", file, got, err)
		}
	}
}

// Every error is on one line and names the file.
func TestFindNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := kernel.Find(dir); !errors.Is(err, kernel.ErrNone) {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := kernel.Find(filepath.Join(dir, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	for name, content := range map[string][]byte{
		"short": []byte("MZ"), "other": make([]byte, 0x900), "modules": image("6.1.0-1-amd64"),
		"version": append(bytes.Repeat([]byte{0}, 0), image("")...), "endless": image(strings.Repeat("1", 300))[:0x700],
	} {
		path := filepath.Join(dir, name)
		write(t, path, content)
		must.FailLine(t, name, must.Err(kernel.Find(path)), path)
	}
}

func TestLoad(t *testing.T) {
	const v = "6.1.0-1-amd64"
	dir := system(t, v)
	modules := filepath.Join(dir, "lib/modules", v)
	write(t, filepath.Join(modules, "modules.builtin"), []byte("kernel/crypto/crc32c_generic.ko\n"))
	for path, needs := range map[string]string{
		"net/virtio-net.ko": "virtio,failover", "net/failover.ko.xz": "", "virtio/virtio.ko.zst": "virtio_ring,crc32c_generic", "virtio/virtio_ring.ko.gz": "",
		"net/broken.ko": "nowhere", "net/round.ko": "trip", "net/trip.ko": "round",
	} {
		write(t, filepath.Join(modules, "kernel", path), compressed(t, strings.TrimPrefix(filepath.Ext(path), ".ko"), module(needs)))
	}
	k := must.Get(kernel.Find(dir))(t)
	got := must.Get(k.Load([]string{"virtio_net", "virtio", "crc32c-generic"}, []string{"nothing", "broken", "failover"}))(t)
	var names []string
	for _, m := range got {
		names = append(names, m.Name)
		must.True(t, bytes.HasPrefix(m.Content, []byte("\x7fELF")), "%s is not uncompressed", m.Name)
	}
	if want := []string{"virtio_ring", "virtio", "failover", "virtio_net"}; !slices.Equal(names, want) {
		t.Errorf("the order is %v, want %v", names, want)
	}
	var none *kernel.NoModuleError
	if _, err := k.Load([]string{"e1000e"}, nil); !errors.As(err, &none) || err.Error() != "kernel "+v+" has no module e1000e" {
		t.Errorf("a missing module: %v", err)
	}
	if _, err := k.Load([]string{"broken"}, nil); !errors.As(err, &none) || none.Module != "nowhere" {
		t.Errorf("a module whose dependency is missing: %v", err)
	}
	must.FailFor(t, "two modules that depend on each other", must.Err(k.Load([]string{"round"}, nil)), "circular")
}

// An invalid or truncated module is an error that names it.
func TestBadModules(t *testing.T) {
	const v = "6.1.0-1-amd64"
	dir := system(t, v)
	for name, content := range map[string][]byte{
		"text.ko": []byte("no module"), "cut.ko": module("")[:90], "cut.ko.xz": compressed(t, ".xz", module(""))[:40], "odd.ko.lz4": []byte("x"), "zst.ko.zst": []byte("x"),
	} {
		write(t, filepath.Join(dir, "lib/modules", v, "kernel/bad", "bad_"+name), content)
		k := must.Get(kernel.Find(dir))(t)
		plain, _, _ := strings.Cut(name, ".")
		must.FailFor(t, name, must.Err(k.Load([]string{"bad_" + plain}, nil)), "bad_"+plain)
		must.Do(t, os.Remove(filepath.Join(dir, "lib/modules", v, "kernel/bad", "bad_"+name)))
	}
}

// FuzzFind checks that for any image there is an error or a version.
func FuzzFind(f *testing.F) {
	f.Add(image("6.1.0"))
	f.Add([]byte("HdrS"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "vmlinuz")
		write(t, path, content)
		if k, err := kernel.Find(path); err == nil {
			t.Errorf("%+v, although there are no modules", k)
		} else if fmt.Sprint(err) == "" {
			t.Error("an error without text")
		}
	})
}
