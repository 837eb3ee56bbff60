package stacks

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is the sampling of one CPU: an event and the buffer to which the kernel writes its
// samples.
type ring struct {
	cpu  int
	fd   int
	mem  []byte // the kernel's control page, then the data
	data []byte
	out  []byte // what was read last
}

// The size of a buffer: maxRingBytes bytes, enough for a second or more of deep stacks, or
// less, down to minRingBytes, if the limit for locked memory is lower.
const (
	maxRingBytes = 512 << 10
	minRingBytes = 32 << 10
)

// openRing opens an event that samples a CPU by its clock, because virtual machines seldom
// have hardware counters. It does not start sampling.
func openRing(cpu int) (*ring, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample:      1_000_000_000 / Rate, // a period in ns
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_CALLCHAIN,
		Bits:        unix.PerfBitDisabled | unix.PerfBitExcludeHv,
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	switch {
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		return nil, fmt.Errorf("open a perf event on CPU %d: %w; it requires root, CAP_PERFMON, or kernel.perf_event_paranoid at 0 or below, and no seccomp filter that blocks it", cpu, err)
	case errors.Is(err, unix.ENOSYS):
		return nil, fmt.Errorf("open a perf event on CPU %d: %w; this kernel does not support perf events", cpu, err)
	case err != nil:
		return nil, fmt.Errorf("open a perf event on CPU %d: %w", cpu, err)
	}
	r := &ring{cpu: cpu, fd: fd}
	if err := r.mmap(); err != nil {
		return nil, errors.Join(fmt.Errorf("map the perf buffer of CPU %d: %w", cpu, err), r.close())
	}
	return r, nil
}

func (r *ring) mmap() (err error) {
	page := os.Getpagesize()
	for size := max(maxRingBytes, page); size >= min(minRingBytes, page); size /= 2 {
		if size < page {
			break
		}
		r.mem, err = unix.Mmap(r.fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			r.data = r.mem[page:]
			return nil
		}
		if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOMEM) {
			return err
		}
	}
	return fmt.Errorf("%w: the limit for locked memory (kernel.perf_event_mlock_kb) is too low", err)
}

func (r *ring) enable() error  { return r.ioctl("start", unix.PERF_EVENT_IOC_ENABLE) }
func (r *ring) disable() error { return r.ioctl("stop", unix.PERF_EVENT_IOC_DISABLE) }

func (r *ring) ioctl(what string, op uint) error {
	if err := unix.IoctlSetInt(r.fd, op, 0); err != nil {
		return fmt.Errorf("%s to sample CPU %d: %w", what, r.cpu, err)
	}
	return nil
}

// read passes all complete records in the buffer to take and frees their space. The kernel
// writes the head and reads the tail; this side does the opposite (perf_event_open(2),
// "MMAP layout").
func (r *ring) read(take func([]byte)) {
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.mem[0]))
	head, tail := atomic.LoadUint64(&page.Data_head), atomic.LoadUint64(&page.Data_tail)
	if head == tail {
		return
	}
	size := uint64(len(r.data))
	from, to := tail%size, head%size
	r.out = r.out[:0]
	if from < to {
		r.out = append(r.out, r.data[from:to]...)
	} else {
		r.out = append(append(r.out, r.data[from:]...), r.data[:to]...)
	}
	take(r.out)
	atomic.StoreUint64(&page.Data_tail, head)
}

func (r *ring) close() error {
	var err error
	if r.mem != nil {
		err = unix.Munmap(r.mem)
		r.mem, r.data = nil, nil
	}
	return errors.Join(err, unix.Close(r.fd))
}
