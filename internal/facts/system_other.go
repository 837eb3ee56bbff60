//go:build !windows && !darwin

package facts

import (
	"errors"
	"runtime"
	"strconv"
)

// system records that nothing else is read: on Linux, Collect does not come here.
func (m *machine) system() {
	m.fact("cpus_allowed", strconv.Itoa(runtime.NumCPU()))
	why := errors.New("facts are read from Linux's /proc and /sys, and this is " + runtime.GOOS)
	for _, name := range []string{"kernel", "distribution", "hypervisor", "cpu_model", "microcode", "memory"} {
		m.fact(name, unknown(why))
	}
}
