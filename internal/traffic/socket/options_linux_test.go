package socket

import (
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// A socket has the options of its workload, as the kernel reads them back, and the kernel's own value of what the workload lacks.
func TestOptionsAreSet(t *testing.T) {
	auto := study.Workload{SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer()}
	for name, c := range map[string]struct {
		level, option int
		want          int
		set           func(*study.Workload)
	}{
		"no_delay":       {unix.IPPROTO_TCP, unix.TCP_NODELAY, 1, func(w *study.Workload) { w.NoDelay = new(true) }},
		"send_buffer":    {unix.SOL_SOCKET, unix.SO_SNDBUF, 2 * 48 << 10, func(w *study.Workload) { w.SendBuffer = quantity.Buffer(48 << 10) }}, // the kernel doubles it
		"receive_buffer": {unix.SOL_SOCKET, unix.SO_RCVBUF, 2 * 48 << 10, func(w *study.Workload) { w.ReceiveBuffer = quantity.Buffer(48 << 10) }},
	} {
		o := TCPOptions{Workload: auto}
		c.set(&o.Workload)
		must.EqualFor(t, name, c.want, optionOf(t, o, c.level, c.option))
		own := must.Get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
		defer unix.Close(own)
		kernel := must.Get(unix.GetsockoptInt(own, c.level, c.option))(t)
		must.EqualFor(t, name+" without it", kernel, optionOf(t, TCPOptions{Workload: auto}, c.level, c.option))
		must.True(t, kernel != c.want, "%s: the kernel's own value is the one to set, %d", name, kernel)
	}
	fd := must.Get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	auto.Congestion = "reno"
	must.Do(t, setOptions(fd, &TCPOptions{Workload: auto}))
	must.Equal(t, "reno", must.Get(unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION))(t))
}

// optionOf is an option of a socket with o, as the kernel reads it back.
func optionOf(t *testing.T, o TCPOptions, level, option int) int {
	t.Helper()
	fd := must.Get(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	must.Do(t, setOptions(fd, &o))
	return must.Get(unix.GetsockoptInt(fd, level, option))(t)
}

// If a kernel reports fewer values of a connection, its times stay unknown.
func TestOlderTCPInfo(t *testing.T) {
	info := unix.TCPInfo{Busy_time: 3000, Rwnd_limited: 2000, Sndbuf_limited: 1000}
	whole := unsafe.Offsetof(info.Delivered)
	want := Chronograph{Known: true, Busy: 3 * time.Millisecond, ReceiveWindow: 2 * time.Millisecond, SendBuffer: time.Millisecond}
	got := chronographOf(&info, whole)
	must.True(t, got == want, "whole: %+v, want %+v", got, want)
	if got := chronographOf(&info, whole-1); got != (Chronograph{}) {
		t.Errorf("cut: %+v", got)
	}
}
