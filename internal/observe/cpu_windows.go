package observe

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// processorTimes is SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION, in 100 ns. Kernel includes idle, DPC and
// interrupt time.
type processorTimes struct {
	idle, kernel, user, dpc, interrupt int64
	interrupts, _                      uint32
}

// ticks100ns is the length of a tick of a sample in 100 ns.
const ticks100ns = 100_000

// maxCPUs bounds the CPUs of one processor group, of which Windows lists one.
const maxCPUs = 64

// readCPU asks the kernel; the path is for systems with procfs. DPC time is what Linux calls softirq:
// most of the network's receive side. Windows has no niced time and no separate wait for disks, which
// are 0, and does not tell steal. A machine of more than 64 CPUs has several groups, of which this is
// the agent's.
func readCPU(string) (*cpuSample, error) {
	var all [maxCPUs]processorTimes
	var size uint32
	if err := windows.NtQuerySystemInformation(windows.SystemProcessorPerformanceInformation, unsafe.Pointer(&all), uint32(unsafe.Sizeof(all)), &size); err != nil {
		return nil, fmt.Errorf("ask the kernel: %w", err)
	}
	return sampleOf(all[:min(uintptr(size)/unsafe.Sizeof(all[0]), maxCPUs)])
}

func sampleOf(cpus []processorTimes) (*cpuSample, error) {
	if len(cpus) == 0 {
		return nil, errors.New("the kernel lists no CPU")
	}
	// Since the start of a machine there is always some. Without any, as under Wine, it is not counted.
	known := colIRQ
	for _, c := range cpus {
		if c.dpc != 0 || c.interrupt != 0 {
			known = colSoftIRQ + 1
		}
	}
	s := &cpuSample{total: cpuLine{id: -1, known: known}}
	var total processorTimes
	for i, c := range cpus {
		s.cpus = append(s.cpus, cpuLine{id: i, known: known, ticks: c.columns()})
		total.idle, total.kernel, total.user = total.idle+c.idle, total.kernel+c.kernel, total.user+c.user
		total.dpc, total.interrupt = total.dpc+c.dpc, total.interrupt+c.interrupt
	}
	s.total.ticks = total.columns()
	return s, s.check()
}

// columns returns the times in ticks.
func (c processorTimes) columns() (t [columns]uint64) {
	for column, v := range map[int]int64{
		colUser: c.user, colSystem: c.kernel - c.idle - c.dpc - c.interrupt, colIdle: c.idle, colIRQ: c.interrupt, colSoftIRQ: c.dpc,
	} {
		t[column] = uint64(max(0, v)) / ticks100ns
	}
	return t
}
