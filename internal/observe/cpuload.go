package observe

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// processorLoadSize is the size of macOS's processor_cpu_load_info: the ticks of 10 ms that a
// CPU spent on programs, on the kernel, idle and on niced programs, of 32 bits each.
const processorLoadSize = 16

// parseProcessorLoad reads what host_processor_info returns, in the order of CPUs. macOS counts
// neither interrupts nor steal apart, and no waiting for disks. A count starts again after 497
// days.
func parseProcessorLoad(b []byte) (*cpuSample, error) {
	switch {
	case len(b) == 0:
		return nil, errors.New("the kernel lists no CPU")
	case len(b)%processorLoadSize != 0:
		return nil, fmt.Errorf("the CPU times have %d bytes, which is not a multiple of %d", len(b), processorLoadSize)
	}
	s := &cpuSample{total: cpuLine{id: -1, known: colIRQ}}
	for id := 0; len(b) > 0; id, b = id+1, b[processorLoadSize:] {
		l := cpuLine{id: id, known: colIRQ}
		for i, column := range [...]int{colUser, colSystem, colIdle, colNice} {
			l.ticks[column] = uint64(binary.NativeEndian.Uint32(b[4*i:]))
			s.total.ticks[column] += l.ticks[column]
		}
		s.cpus = append(s.cpus, l)
	}
	return s, s.check()
}
