package observe

import (
	"os"
	"testing"

	"tare/internal/testkit/must"
)

func TestProcessSet(t *testing.T) {
	table := func(own string, all ...proc) Table {
		t.Helper()
		root := t.TempDir()
		procTree(t, root, all...)
		got := must.Get(ReadTable(root))(t)
		got.own = own
		return got
	}
	engine := func(scale int) []proc {
		return []proc{
			{pid: 1, name: "systemd", user: 5 * scale},
			{pid: 2, name: "kthreadd", kernel: true},
			{pid: 50, parent: 1, name: "tare", user: 1000 * scale},
			{pid: 60, parent: 50, name: "tare", user: 3 * scale}, // init process of the engine
			{pid: 61, parent: 60, name: "dockerd", user: 10 * scale, system: 5 * scale},
			{pid: 62, parent: 61, name: "containerd", user: 2 * scale},
			{pid: 63, parent: 61, name: "docker-proxy", user: 30 * scale, system: 90 * scale},
			{pid: 64, parent: 61, name: "docker-proxy", user: 10 * scale},
			{pid: 65, parent: 60, name: "containerd-shim", system: scale},
			{pid: 66, parent: 65, name: "tare", user: 800 * scale},
			{pid: 67, parent: 65, name: "iperf3", user: 800 * scale},
			{pid: 68, parent: 67, name: "helper", user: 800 * scale},
			{pid: 80, parent: 1, name: "dockerd", user: 700 * scale}, // the user's own
		}
	}
	before, after := table("tare", engine(1)...), table("tare", append(engine(3), proc{pid: 90, parent: 61, name: "runc", user: 4, started: 9})...)
	for _, c := range []struct {
		name string
		of   ProcessSet
		want map[string]float64
	}{
		{"a tree, without what is in containers", ProcessSet{Roots: []int{60}},
			map[string]float64{"dockerd": 0.3, "containerd": 0.04, "docker-proxy": 2.6, "containerd-shim": 0.02, "runc": 0.04}},
		{"programs by name, wherever", ProcessSet{Programs: []string{"dockerd", "systemd"}}, map[string]float64{"dockerd": 14.3, "systemd": 0.1}},
		{"a root that is gone", ProcessSet{Roots: []int{777}}, map[string]float64{}},
		{"nothing", ProcessSet{}, map[string]float64{}},
	} {
		must.EqualFor(t, c.name, c.want, after.CPUTime(before, c.of), nearly)
	}
	// A process with the id of one that ended is another process.
	reused := table("tare", proc{pid: 1, name: "init"}, proc{pid: 70, name: "dockerd", user: 900, started: 5})
	later := table("tare", proc{pid: 1, name: "init"}, proc{pid: 70, name: "dockerd", user: 20, started: 800})
	must.Equal(t, map[string]float64{"dockerd": 0.2}, later.CPUTime(reused, ProcessSet{Roots: []int{70}}), nearly)
	must.FailFor(t, "there are processes where there is no procfs", must.Err(ReadTable(t.TempDir()+"/none")))
}

// The memory of a mode is that of its processes as of CPU time; a mode without any has an unknown one, not 0.
func TestMemoryOfProcesses(t *testing.T) {
	root := t.TempDir()
	procTree(t, root, proc{pid: 1, name: "systemd"}, proc{pid: 50, parent: 1, name: "tare"}, proc{pid: 60, parent: 50, name: "tare"},
		proc{pid: 61, parent: 60, name: "dockerd"}, proc{pid: 63, parent: 61, name: "docker-proxy"}, proc{pid: 65, parent: 60, name: "containerd-shim"}, proc{pid: 66, parent: 65, name: "iperf3"})
	table := must.Get(ReadTable(root))(t)
	table.own = "tare"
	for _, c := range []struct {
		name  string
		of    ProcessSet
		pages int // procTree gives each process 100
	}{
		{"a tree, without what is in containers", ProcessSet{Roots: []int{60}}, 300}, {"programs by name", ProcessSet{Programs: []string{"systemd"}}, 100},
		{"a root that is gone", ProcessSet{Roots: []int{777}}, 0}, {"nothing", ProcessSet{}, 0},
	} {
		bytes, known := table.Memory(c.of)
		must.True(t, bytes == float64(c.pages*os.Getpagesize()) && known == (c.pages > 0), "%s: %g bytes, known %t", c.name, bytes, known)
	}
}
