package clock

import (
	"math/bits"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel    = windows.NewLazySystemDLL("kernel32.dll")
	counter   = address("QueryPerformanceCounter")
	frequency = query(address("QueryPerformanceFrequency"))
)

// address returns the address of a function that every version of Windows has.
func address(name string) uintptr {
	p := kernel.NewProc(name)
	if err := p.Find(); err != nil {
		panic(err)
	}
	return p.Addr()
}

// query calls a function that stores one 64-bit value. Such a call cannot fail since Windows XP.
func query(fn uintptr) uint64 {
	var v uint64
	_, _, _ = syscall.SyscallN(fn, uintptr(unsafe.Pointer(&v)))
	return v
}

// Instant is a reading of the clock: ticks of the performance counter since the system started.
type Instant struct{ ticks uint64 }

// Now reads the performance counter, on most machines without a system call.
func Now() Instant { return Instant{query(counter)} }

// Since returns the time that has passed since an instant.
func (i Instant) Since() time.Duration {
	return time.Duration(nanoseconds(query(counter)-i.ticks, frequency))
}

// Add returns the instant that lies d after i.
func (i Instant) Add(d time.Duration) Instant {
	high, low := bits.Mul64(uint64(d.Abs()), frequency)
	ticks, _ := bits.Div64(high, low, uint64(time.Second))
	if d < 0 {
		return Instant{i.ticks - ticks} // it may wrap: only differences are used
	}
	return Instant{i.ticks + ticks}
}

// Nanoseconds returns the time since the system started. All processes of the machine agree on it.
func (i Instant) Nanoseconds() int64 { return nanoseconds(i.ticks, frequency) }

// nanoseconds converts ticks without overflow on the way.
func nanoseconds(ticks, frequency uint64) int64 {
	high, low := bits.Mul64(ticks, uint64(time.Second))
	ns, _ := bits.Div64(high%frequency, low, frequency)
	return int64(ns)
}
