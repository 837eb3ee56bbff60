package driver

import (
	"os"
	"strings"
	"time"
)

// emulationFactor multiplies timeouts where QEMU emulates the CPU. Such a CPU is about 20
// times slower than a real one, and timeouts already allow for a busy machine.
const emulationFactor = 4

// ScaleTimeout returns the timeout for this machine, given the timeout d for a real CPU. A
// CPU whose model name contains QEMU is emulated, or KVM uses QEMU's name, in which case a
// longer timeout does no harm.
func ScaleTimeout(d time.Duration) time.Duration { return scaleTimeout("/proc/cpuinfo", d) }

func scaleTimeout(cpuinfo string, d time.Duration) time.Duration {
	f, err := os.Open(cpuinfo)
	if err != nil {
		return d
	}
	defer f.Close()
	text := make([]byte, 1024) // the first CPU's entry; reading all of them is slow on a large machine
	n, _ := f.Read(text)       // if it cannot be read, no CPU is found
	for line := range strings.Lines(string(text[:n])) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "model name" && strings.Contains(value, "QEMU") {
			return emulationFactor * d
		}
	}
	return d
}
