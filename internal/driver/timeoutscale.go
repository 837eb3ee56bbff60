package driver

import (
	"os"
	"strings"
	"time"
)

// emulationFactor is by how much longer limits are where QEMU emulates the CPU: it is some 20
// times slower than a real one, and limits leave room for a busy machine already.
const emulationFactor = 4

// ScaleTimeout is how long something may take, for which d is long enough on a real CPU, on
// this machine's. One whose kernel names its CPU after QEMU is emulated, or KVM runs it
// under QEMU's own name: there a longer limit does no harm.
func ScaleTimeout(d time.Duration) time.Duration { return scaleTimeout("/proc/cpuinfo", d) }

func scaleTimeout(cpuinfo string, d time.Duration) time.Duration {
	f, err := os.Open(cpuinfo)
	if err != nil {
		return d
	}
	defer f.Close()
	text := make([]byte, 1024) // the first CPU's: to tell of all takes a large machine's kernel a while
	n, _ := f.Read(text)       // what cannot be read is of no CPU
	for line := range strings.Lines(string(text[:n])) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "model name" && strings.Contains(value, "QEMU") {
			return emulationFactor * d
		}
	}
	return d
}
