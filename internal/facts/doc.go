// Package facts describes a host: its kernel, its CPUs, the settings of its network stack,
// and the privileges of this process. The facts are read once in a run, are stored in
// run.json with the results, and are printed by `tare doctor`.
//
// The value of an unreadable fact is "unknown: reason", never empty or 0. A fact that does
// not apply, such as the size of a conntrack table that does not exist, is omitted. Facts
// are for people; programs query the system instead.
//
// All facts except offloads and packet filters, which are queried from the kernel, and the
// hypervisor's name, which the CPU tells, are read from files below a root directory, so that tests can provide their own machines. Nothing
// is changed, executed or loaded.
package facts

import (
	"io/fs"
	"os"
	"runtime"

	"tare/internal/result"
)

// Report describes a machine. Facts are in reading order. Each warning has a stable code
// and a text that says what it does to the results and how to fix it.
//
// Existing are warnings that apply only to runs whose endpoints use this machine's own
// network stack, as with an existing engine; a lab has its own network stacks.
type Report struct {
	Facts    []result.Fact
	Groups   []Group // the same facts, by topic
	Warnings []result.Warning
	Existing []result.Warning
}

// Group is a titled group of facts.
type Group struct {
	Title string
	Facts []result.Fact
}

// Collect describes the machine whose file system is at root, normally "/", from its /proc,
// /sys and /etc. It cannot fail; unreadable facts are unknown. Network stack settings are
// those of the caller's network namespace, and the load is the current one. For another
// root, what is not in files is omitted. Other systems have fewer facts, of their own sources.
func Collect(root string) Report {
	if runtime.GOOS != "linux" {
		return otherSystem()
	}
	if root == "/" {
		return machineOf(os.DirFS(root), kernel{})
	}
	return machineOf(os.DirFS(root), nil)
}

// otherSystem returns the facts for systems other than Linux.
func otherSystem() Report {
	m := &machine{}
	m.group("machine")
	m.fact("system", runtime.GOOS)
	m.fact("architecture", runtime.GOARCH)
	m.system()
	return m.report
}

func machineOf(fsys fs.FS, ask kernelReader) Report {
	m := &machine{files: files{fsys}, reader: ask}
	m.group("machine")
	m.kernel()
	m.virtualization()
	m.group("CPUs")
	m.cpus()
	m.numa()
	m.isolatedCPUs()
	m.frequency()
	m.mitigations()
	m.group("clock and counting")
	m.clock()
	m.accounting()
	m.evidence()
	m.group("memory and limits")
	m.memory()
	m.cgroups()
	m.group("now")
	m.load()
	m.group("network stack")
	m.congestion()
	m.network()
	m.conntrack()
	m.filters()
	m.group("devices")
	m.devices()
	return m.report
}
