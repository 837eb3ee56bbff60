package private_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// process is a process that no other one is taken for: its id and when it began.
type process struct {
	pid   int
	began string
	name  string
}

// stat reads a process's parent, start and name; false where it has ended.
func stat(pid int) (p process, parent int, ok bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return p, 0, false
	}
	at := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[at+1:]))
	if fields[0] == "Z" || fields[0] == "X" {
		return p, 0, false
	}
	parent, _ = strconv.Atoi(fields[1])
	_, name, _ := strings.Cut(string(text[:at]), "(")
	return process{pid, fields[19], name}, parent, true
}

// below lists a process and all that descend from it.
func below(t *testing.T, pid int) []process {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	children := map[int][]process{}
	for _, d := range dirs {
		id, _ := strconv.Atoi(filepath.Base(d))
		if p, parent, ok := stat(id); ok {
			children[parent] = append(children[parent], p)
		}
	}
	var all []process
	if p, _, ok := stat(pid); ok {
		all = append(all, p)
	}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i].pid]...)
	}
	return all
}

// running keeps of processes those that still run.
func running(all []process) []process {
	var left []process
	for _, was := range all {
		if p, _, ok := stat(was.pid); ok && p.began == was.began {
			left = append(left, p)
		}
	}
	return left
}

// child is the process of that name below another.
func child(t *testing.T, pid int, name string) process {
	t.Helper()
	for _, p := range below(t, pid) {
		if p.name == name {
			return p
		}
	}
	t.Fatalf("no %s below process %d", name, pid)
	return process{}
}

// traces lists what a run has on this machine beside its lab: mounts, control
// groups and directories.
func traces(t *testing.T, run string) []string {
	t.Helper()
	var found []string
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, run) && !strings.Contains(line, linuxnet.PinDir) {
			found = append(found, "mount "+line)
		}
	}
	all, err := private.Hierarchies()
	if err != nil || len(all) == 0 {
		t.Fatalf("control groups are mounted on %v, %v", all, err)
	}
	for _, h := range all {
		groups, err := filepath.Glob(filepath.Join(h, lab.Prefix+run+"*"))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, groups...)
	}
	dirs, err := filepath.Glob("/var/lib/tare/engines/" + run + "*")
	if err != nil {
		t.Fatal(err)
	}
	return append(found, dirs...)
}

// eventually waits for what is bound to come, for half a minute at most.
func eventually(t *testing.T, what string, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !come(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited half a minute for %s", what)
		}
	}
}
