package socket

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
)

// gVisor fills in TCP_INFO as a whole and counts next to nothing in it: what it does not count is
// unknown, and not 0.
func TestSentryCountsNothing(t *testing.T) {
	of := unix.TCPInfo{State: 1, Rto: 200_000, Rtt: 1000, Snd_cwnd: 10}
	got := infoOf(&of, unsafe.Sizeof(of))
	must.True(t, got == (TCPInfo{}), "%+v", got)
	of.Snd_mss, of.Segs_out = 1448, 3
	if got := infoOf(&of, unsafe.Sizeof(of)); !got.Known || got.Segments != 3 || got.RTT != 0.001 {
		t.Errorf("of a kernel that counts: %+v", got)
	}
}

func TestSentryVersion(t *testing.T) {
	for version, want := range map[string]bool{
		"Linux version 4.19.0-gvisor #1 SMP Sun Jan 10 15:06:54 PST 2016\n":                                true,
		"Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n":                                        true,
		"Linux version 6.1.0-18-cloud-amd64 (debian-kernel@lists.debian.org) #1 SMP Debian (2024-02-01)\n": false,
		"": false,
	} {
		must.EqualFor(t, version, want, isSentry(version))
	}
}
