//go:build linux

package faults

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testns"
)

// snapshot is what exists on the machine, a sorted line for each thing, with its kind in
// front: processes, namespaces, links, rules, settings, mounts, control groups, sockets and
// files.
type snapshot []string

// take lists what exists now.
func take(t *testing.T) snapshot {
	t.Helper()
	var s snapshot
	add := func(kind string, lines []string) {
		for _, l := range lines {
			s = append(s, kind+" "+l)
		}
	}
	for _, p := range processes() {
		if p.pid != 1 && p.pid != os.Getpid() {
			add("process", []string{strings.Join(p.args, " ")})
		}
	}
	for _, c := range [][]string{
		{"ip", "-br", "link"}, {"ip", "-br", "address"}, {"ip", "route", "show", "table", "all"}, {"ip", "-6", "route", "show", "table", "all"},
		{"ip", "rule"}, {"ip", "xfrm", "state"}, {"ip", "xfrm", "policy"}, {"ip", "netns"}, {"nft", "list", "ruleset"},
	} {
		out, err := exec.Command(c[0], c[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(c, " "), err, out)
		}
		add(strings.Join(c, " "), linesOf(out))
	}
	add("setting", settings(t))
	add("mount", mounts(t))
	groups := must.Get(testns.Hierarchies())(t)
	for _, h := range groups {
		add("control group", walk(t, h.At, func(_ string, e fs.DirEntry) bool { return e.IsDir() }))
	}
	add("socket", sockets(t))
	all := func(string, fs.DirEntry) bool { return true }
	for _, dir := range []string{"/tmp", "/var/tmp", "/var/lib", "/dev/shm", "/run"} {
		add("file", walk(t, dir, all))
	}
	// Mount points are in the layer, too, without content.
	add("file", walk(t, testns.Layer, all))
	slices.Sort(s)
	return s
}

// linesOf splits a text without what changes by itself.
func linesOf(text []byte) (lines []string) {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// counting reports whether a setting counts something of the whole machine, or is the
// harness's own.
func counting(path string) bool {
	for _, p := range []string{
		"fs/dentry-state", "fs/file-nr", "fs/inode-nr", "fs/inode-state", "fs/aio-nr", "fs/quota/", "kernel/random/", "kernel/pty/nr", "kernel/ns_last_pid", "kernel/tainted",
		"kernel/keys/", "fs/binfmt_misc", "net/netfilter/nf_conntrack_count", "net/ipv4/route/flush", "net/ipv6/route/flush", "kernel/sched_domain", "vm/compact_memory",
		"kernel/perf_event_max_sample_rate", "kernel/perf_cpu_time_max_percent",
	} {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return strings.HasSuffix(path, "stable_secret")
}

// settings lists the kernel settings with their values.
func settings(t *testing.T) (lines []string) {
	t.Helper()
	const root = "/proc/sys"
	for _, path := range walk(t, root, func(_ string, e fs.DirEntry) bool { return !e.IsDir() }) {
		name := strings.TrimPrefix(path, root+"/")
		if counting(name) {
			continue
		}
		value, err := os.ReadFile(path)
		if err != nil {
			value = []byte("not readable") // some can only be written
		}
		lines = append(lines, name+" = "+string(bytes.Join(bytes.Fields(value), []byte(" "))))
	}
	return lines
}

func mounts(t *testing.T) (lines []string) {
	t.Helper()
	text := must.Get(os.ReadFile("/proc/self/mounts"))(t)
	return linesOf(text)
}

// sockets lists those with names: Unix sockets and ports.
func sockets(t *testing.T) (lines []string) {
	t.Helper()
	text := must.Get(os.ReadFile("/proc/net/unix"))(t)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 8 && f[0] != "Num" {
			lines = append(lines, "unix "+f[7])
		}
	}
	for _, proto := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
		text, err := os.ReadFile("/proc/net/" + proto)
		if err != nil {
			continue // a kernel without IPv6
		}
		for line := range strings.Lines(string(text)) {
			const timeWait = "06"
			if f := strings.Fields(line); len(f) > 3 && f[0] != "sl" && f[3] != timeWait {
				lines = append(lines, proto+" "+f[1]+" "+f[2])
			}
		}
	}
	return lines
}

// walk lists the paths below a directory that pick accepts. What disappears meanwhile is left
// out.
func walk(t *testing.T, dir string, pick func(string, fs.DirEntry) bool) (paths []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && path != dir && pick(path, e) {
			paths = append(paths, path)
		}
		return nil
	}))
	return paths
}

// proc is a process of the machine.
type proc struct {
	pid, parent int
	args        []string
}

// processes lists the processes that have not ended.
func processes() (all []proc) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
		fields := strings.Fields(rest)
		if err != nil || len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		p := proc{args: strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")}
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		p.parent, _ = strconv.Atoi(fields[1])
		all = append(all, p)
	}
	return all
}

// pause is the time between two looks at something that is awaited.
func pause() { time.Sleep(20 * time.Millisecond) }

// patience limits the wait for what follows from an end, on a machine of any load. Nothing
// takes a tenth of it.
const patience = 30 * time.Second

// settled waits until the machine is as before, and otherwise returns the difference.
func (s snapshot) settled(t *testing.T) (diff string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; pause() {
		diff = s.diff(take(t))
		if diff == "" || time.Now().After(deadline) {
			return diff
		}
	}
}

// diff lists what is there only before or only after.
func (s snapshot) diff(after snapshot) string {
	if cmp.Equal(s, after) {
		return ""
	}
	var out strings.Builder
	count := map[string]int{}
	for _, l := range s {
		count[l]--
	}
	for _, l := range after {
		count[l]++
	}
	for _, l := range slices.Concat(s, after) {
		switch {
		case count[l] > 0:
			fmt.Fprintf(&out, "+ %s\n", l)
		case count[l] < 0:
			fmt.Fprintf(&out, "- %s\n", l)
		}
		count[l] = 0
	}
	return out.String()
}
