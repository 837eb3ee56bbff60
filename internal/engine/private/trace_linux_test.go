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
	"tare/internal/testkit/must"
)

// process identifies a process by its id and start time.
type process struct {
	pid   int
	began string
	name  string
}

// stat reads a process's parent, start time and name; ok is false if it has exited.
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

// below returns a process and all its descendants.
func below(t *testing.T, pid int) []process {
	t.Helper()
	dirs := must.Get(filepath.Glob("/proc/[0-9]*"))(t)
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

// running returns those of the processes that still run.
func running(all []process) []process {
	var left []process
	for _, was := range all {
		if p, _, ok := stat(was.pid); ok && p.began == was.began {
			left = append(left, p)
		}
	}
	return left
}

// daemon returns the dockerd below a process.
func daemon(t *testing.T, pid int) process {
	t.Helper()
	for _, p := range below(t, pid) {
		if p.name == "dockerd" {
			return p
		}
	}
	t.Fatalf("no dockerd below process %d", pid)
	return process{}
}

// enginesDir has the directories and marks of all private engines.
const enginesDir = "/var/lib/tare/engines"

// traces returns what a run has on this machine besides its lab: mounts, control groups and
// directories.
func traces(t *testing.T, run string) []string {
	t.Helper()
	var found []string
	mounts := must.Get(os.ReadFile("/proc/self/mountinfo"))(t)
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
		found = append(found, must.Get(filepath.Glob(filepath.Join(h, lab.Prefix+run+"*")))(t)...)
	}
	return append(found, must.Get(filepath.Glob(filepath.Join(enginesDir, run+"*")))(t)...)
}

// eventually waits for a condition, for half a minute at most.
func eventually(t *testing.T, what string, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !come(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited half a minute for %s", what)
		}
	}
}
