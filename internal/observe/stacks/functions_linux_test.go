package stacks

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tare/internal/observe"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// The functions of a stripped program are named by its own table, as they are of this program.
func TestTableOf(t *testing.T) {
	self := must.Get(os.Executable())(t)
	size, named, err := tableOf(self)
	must.Do(t, err)
	at := uint64(reflect.ValueOf(TestTableOf).Pointer())
	if info, err := os.Stat(self); err != nil || size != info.Size() || named(at+1) != function(at+1) || !strings.HasSuffix(named(at), "stacks.TestTableOf") || named(1) != "" {
		t.Errorf("%d bytes, %v, %q at %#x, which is %q", size, err, named(at+1), at, function(at+1))
	}
	testneed.NotShort(t)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	must.Do(t, os.WriteFile(source, []byte("package main\n\nfunc main() { main2() }\n\n//go:noinline\nfunc main2() { println() }\n"), 0o600))
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, named, err = tableOf(program); err != nil {
		t.Fatal(err)
	}
	found := false
	for a := uint64(0x401000); a < 0x600000 && !found; a += 16 {
		found = named(a) == "main.main2"
	}
	must.True(t, found, "no address is in main.main2")
	if _, _, err := tableOf(source); err == nil {
		t.Error("a text file has functions")
	}
}

// Only processes of tare that run a known binary have named functions.
func TestFunctions(t *testing.T) {
	pid := os.Getpid()
	s := &Sampler{procRoot: "/proc"}
	for relation, want := range map[observe.Relation]bool{observe.Self: true, observe.Agent: true, observe.Unrelated: false, observe.Descendant: false} {
		got := s.functions(map[int]observe.Program{pid: {Relation: relation}})(pid)
		must.True(t, (got != nil) == want, "relation %v: functions are named: %v", relation, got != nil)
	}
	got := s.functions(map[int]observe.Program{1: {Relation: observe.Agent}})(1)
	must.True(t, got == nil, "another program's functions are named")
}
