// Package facts is what a host is: its kernel, its CPUs, the settings of its
// network stack, and the rights of this process. They are read once a run, go
// into run.json beside the results, and are what `tare doctor` prints.
//
// A fact that cannot be had reads "unknown: why" and is never empty or 0. One
// that does not apply (the size of a conntrack table that is not there) is left
// out. Facts are for people: what a program must know, it asks the system.
//
// Everything is read from files below a root, so that tests bring their own
// machines. Nothing is changed, run or loaded.
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
type Report struct {
	Facts    []result.Fact
	Warnings []result.Warning
}

// Machine reads the machine whose file system is at root, normally "/": its
// /proc, /sys and /etc. It cannot fail; what is not readable is unknown.
// Settings of the network stack are those of the network namespace of the
// caller, the load is that of the moment. On another system than Linux nothing
// is read.
func Machine(root string) Report {
	if runtime.GOOS != "linux" {
		return elsewhere()
	}
	return machineOf(os.DirFS(root))
}

// elsewhere is what this program knows of a machine without reading anything.
func elsewhere() Report {
	m := &machine{}
	m.fact("system", runtime.GOOS)
	m.fact("architecture", runtime.GOARCH)
	m.fact("cpus_allowed", strconv.Itoa(runtime.NumCPU()))
	why := errors.New("it is read from Linux's /proc and /sys, and this is " + runtime.GOOS)
	for _, name := range []string{"kernel", "distribution", "cpu_model", "memory"} {
		m.fact(name, unknown(why))
	}
	return m.report
}

func machineOf(fsys fs.FS) Report {
	m := &machine{fsys: fsys}
	m.kernel()
	m.virtualization()
	m.cpus()
	m.frequency()
	m.clock()
	m.accounting()
	m.memory()
	m.load()
	m.cgroups()
	m.mitigations()
	m.congestion()
	m.network()
	return m.report
}
