package socket

import (
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
)

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
