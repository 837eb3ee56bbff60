package stacks

import (
	"encoding/binary"
	"fmt"
)

// The records of perf_event_open(2) that are used here, and the markers in a call chain
// (linux/perf_event.h).
const (
	recordLost        = 2
	recordSample      = 9
	recordLostSamples = 13

	headerSize  = 8
	contextMax  = ^uint64(4095) + 1 // -4095: values from here up are markers, not addresses
	contextKern = ^uint64(0x80) + 1
	contextUser = ^uint64(0x200) + 1
)

// sample is a sample record: the process and its addresses, innermost first.
type sample struct {
	pid          int
	kernel, user []uint64
}

// eachRecord calls take for each record in b, without its header. An invalid length is an
// error, after which nothing can be parsed.
func eachRecord(b []byte, take func(kind uint32, body []byte)) error {
	for len(b) > 0 {
		if len(b) < headerSize {
			return fmt.Errorf("%d bytes at the end of the kernel's buffer are not a record", len(b))
		}
		kind, size := binary.NativeEndian.Uint32(b), int(binary.NativeEndian.Uint16(b[6:]))
		if size < headerSize || size > len(b) {
			return fmt.Errorf("a record of %d bytes in %d of the kernel's buffer", size, len(b))
		}
		take(kind, b[headerSize:size])
		b = b[size:]
	}
	return nil
}

// parseSample parses the body of a sample with PERF_SAMPLE_TID and PERF_SAMPLE_CALLCHAIN:
// pid and tid, then the number of addresses and the addresses.
func parseSample(b []byte) (sample, bool) {
	if len(b) < 16 {
		return sample{}, false
	}
	s := sample{pid: int(int32(binary.NativeEndian.Uint32(b)))} //nolint:gosec // a process id
	n, b := binary.NativeEndian.Uint64(b[8:]), b[16:]
	if n > uint64(len(b)/8) {
		return sample{}, false
	}
	var part *[]uint64
	for i := range int(n) { //nolint:gosec // bounded by the record
		switch address := binary.NativeEndian.Uint64(b[8*i:]); {
		case address == contextKern:
			part = &s.kernel
		case address == contextUser:
			part = &s.user
		case address >= contextMax:
			part = nil // of a guest or a hypervisor
		case part != nil:
			*part = append(*part, address)
		}
	}
	return s, true
}

// lostIn returns how many samples a record reports as lost.
func lostIn(kind uint32, body []byte) int {
	switch {
	case kind == recordLost && len(body) >= 16: // an id, then the number
		return int(binary.NativeEndian.Uint64(body[8:])) //nolint:gosec // a count
	case kind == recordLostSamples && len(body) >= 8:
		return int(binary.NativeEndian.Uint64(body)) //nolint:gosec // a count
	}
	return 0
}
