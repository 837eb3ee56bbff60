package agentfile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"tare/internal/testkit/must"
)

func packed(t *testing.T, content []byte) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	must.Get(w.Write(content))(t)
	must.Do(t, w.Close())
	return out.String()
}

// What was packed can be executed, only through the process that unpacked it, and not changed.
func TestCreate(t *testing.T) {
	found := must.Get(exec.LookPath("true"))(t)
	program := must.Get(os.ReadFile(found))(t)
	f := must.Get(create(packed(t, program)))(t)
	defer f.Close()
	if out, err := exec.Command(pathOf(f)).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		t.Error("the program can be changed")
	}
	if err := f.Truncate(1); err == nil {
		t.Error("the program can be cut")
	}
	held := must.Get(f.Stat())(t)
	other := must.Get(os.Stat(found))(t)
	for _, c := range []struct {
		dir  string
		file os.FileInfo
		want bool
	}{{"/proc/self", held, true}, {"/proc/self", other, false}, {"/proc/1", held, false}, {"/proc/none", held, false}} {
		if got := IsHeldBy(c.dir, c.file); got != c.want {
			t.Errorf("%s holds %s: %v", c.dir, c.file.Name(), got)
		}
	}
}

func TestCreateFails(t *testing.T) {
	full := packed(t, bytes.Repeat([]byte("x"), 1000))
	for name, c := range map[string]struct{ compressed, want string }{
		"none":      {"", "built without make"},
		"no gzip":   {"something else", "unpack the agent's program into memory"},
		"truncated": {full[:len(full)-9], "unexpected EOF"},
		"changed":   {full[:len(full)-8] + "12345678", "checksum"},
		"too large": {packed(t, make([]byte, MaxSize+1)), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := create(c.compressed)
			if err == nil {
				f.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A tare that make built has an agent and an identity, any other has neither.
func TestPath(t *testing.T) {
	path, err := Path()
	if (compressed == "") != (err != nil) || (compressed == "") != (ID() == "") {
		t.Fatalf("%d bytes, id %q, path %q: %v", len(compressed), ID(), path, err)
	}
	if err != nil {
		if want := "the whole program: tare was built without make"; Describe() != want {
			t.Errorf("it is described as %q", Describe())
		}
		return
	}
	again, err := Path()
	if err != nil || again != path {
		t.Errorf("then %q: %v", again, err)
	}
	if isResident(t, compressed) {
		t.Error("the packed program is still in memory")
	}
	must.Do(t, must.Get(create(compressed))(t).Close()) // it can be read again
	if !isResident(t, compressed) {
		t.Error("what was read is not in memory: the test sees nothing")
	}
	out, err := exec.Command(path, "version").CombinedOutput()
	if err != nil || string(out) != "tare agent, build "+ID()+"\n" {
		t.Errorf("%v: %s, and tare is build %s", err, out, ID())
	}
	if want := "a program of its own"; Describe() != want {
		t.Errorf("it is described as %q", Describe())
	}
}

// isResident reports whether this process has the page in the middle of a string in its memory.
func isResident(t *testing.T, text string) bool {
	t.Helper()
	pages := must.Get(os.Open("/proc/self/pagemap"))(t)
	defer pages.Close()
	middle := uintptr(unsafe.Pointer(unsafe.StringData(text))) + uintptr(len(text))/2
	entry := make([]byte, 8)
	must.Get(pages.ReadAt(entry, int64(middle)/int64(os.Getpagesize())*8))(t)
	return binary.NativeEndian.Uint64(entry)>>63 == 1
}
