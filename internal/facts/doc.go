// Package facts is what a host is: its kernel, its CPUs, the settings of its
// network stack, and the rights of this process. They are read once a run, go
// into run.json beside the results, and are what `tare doctor` prints.
//
// A fact that cannot be had reads "unknown: why" and is never empty or 0. One
// that does not apply (the size of a conntrack table that is not there) is left
// out. Facts are for people: what a program must know, it asks the system.
//
// All but offloads and packet filters, for which the kernel is asked, is read from
// files below a root, so that tests bring their own machines. Nothing is changed, run
// or loaded.
package facts

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strconv"

	"tare/internal/result"
)

// Report is what was found out about a machine. Facts are in the order in which
// they are worth reading. Each warning has a stable code, and a text that says
// what it does to the results and what would mend it.
//
// Existing are warnings that bear only on runs whose ends use this machine's own
// network stack, as with an engine that exists: a lab has stacks of its own.
type Report struct {
	Facts    []result.Fact
	Groups   []Group // the same facts, by what they are about
	Warnings []result.Warning
	Existing []result.Warning
}

// Group is facts that belong together, under a title for people.
type Group struct {
	Title string
	Facts []result.Fact
}

// Collect reads the machine whose file system is at root, normally "/": its
// /proc, /sys and /etc. It cannot fail; what is not readable is unknown.
// Settings of the network stack are those of the network namespace of the
// caller, the load is that of the moment. Of another root than "/" what is in no file
// is left out. On another system than Linux nothing is read.
func Collect(root string) Report {
	if runtime.GOOS != "linux" {
		return elsewhere()
	}
	if root == "/" {
		return machineOf(os.DirFS(root), kernel{})
	}
	return machineOf(os.DirFS(root), nil)
}

// elsewhere is what this program knows of a machine without reading anything.
func elsewhere() Report {
	m := &machine{}
	m.group("machine")
	m.fact("system", runtime.GOOS)
	m.fact("architecture", runtime.GOARCH)
	m.fact("cpus_allowed", strconv.Itoa(runtime.NumCPU()))
	why := errors.New("it is read from Linux's /proc and /sys, and this is " + runtime.GOOS)
	for _, name := range []string{"kernel", "distribution", "cpu_model", "memory"} {
		m.fact(name, unknown(why))
	}
	return m.report
}

func machineOf(fsys fs.FS, ask asker) Report {
	m := &machine{fsys: fsys, ask: ask}
	m.group("machine")
	m.kernel()
	m.virtualization()
	m.group("CPUs")
	m.cpus()
	m.numa()
	m.apart()
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
	m.tracking()
	m.filters()
	m.group("devices")
	m.devices()
	return m.report
}
