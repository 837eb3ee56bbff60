package socket

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/must"
)

// zeroCopyPair returns a sender over loopback with so many buffers, and the other end of its connection.
func zeroCopyPair(t *testing.T, raw bool, count, size int) (*ZeroCopy, Stream) {
	t.Helper()
	o := TCPOptions{SendBuffer: 256 << 10, ReceiveBuffer: 64 << 10, ZeroCopy: true}
	l := must.Get(Fast{}.ListenTCP("127.0.0.1:0", o))(t)
	defer l.Close()
	c := must.Get(Fast{}.DialTCP(t.Context(), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), l.Port()), o))(t)
	t.Cleanup(c.Close)
	s := must.Get(l.Accept(nil))(t)
	t.Cleanup(s.Close)
	memory := must.Get(MapZeroCopy(count * size))(t)
	t.Cleanup(func() { UnmapZeroCopy(memory) })
	return NewZeroCopy(c.FD(), memory, size, raw), s
}

// A buffer is free only when its data has left it: a sender that overwrites each free buffer changes nothing
// of what arrives, although a slow receiver keeps data in the sender's queue.
func TestZeroCopyBuffersAreKept(t *testing.T) {
	const size, total = 20_000, 8 << 20
	for _, raw := range []bool{false, true} {
		z, to := zeroCopyPair(t, raw, 16, size)
		got := make(chan []byte)
		go func() {
			var all []byte
			b := make([]byte, 7000)
			for {
				n, err := to.Read(b)
				if n == 0 && !IsAgain(err) {
					got <- all
					return
				}
				all = append(all, b[:n]...)
			}
		}()
		source := rand.NewChaCha8([32]byte{1})
		var want []byte
		for len(want) < total {
			i := int(z.next) & (len(z.used) - 1)
			if !z.used[i] {
				_, _ = io.ReadFull(source, z.memory[i*size:][:size])
			}
			n, err := z.Send(size)
			if err != nil && !IsAgain(err) {
				t.Fatal(err)
			}
			want = append(want, z.memory[i*size:][:n]...)
		}
		must.Do(t, FastStream(z.fd).CloseWrite())
		if !bytes.Equal(want, <-got) {
			t.Errorf("raw %t: other data arrived than was sent", raw)
		}
	}
}

// A message of the kernel names sends by 32-bit numbers, which wrap, and says whether it copied.
func TestZeroCopyMessages(t *testing.T) {
	z := &ZeroCopy{used: make([]bool, 8), inUse: 4, next: 2}
	for _, i := range []int{6, 7, 0, 1} {
		z.used[i] = true
	}
	message := func(level, kind int32, e unix.SockExtendedErr) {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&z.control[0]))
		h.Level, h.Type = level, kind
		*(*unix.SockExtendedErr)(unsafe.Add(unsafe.Pointer(h), unix.CmsgLen(0))) = e
		z.header.SetControllen(unix.CmsgLen(int(unsafe.Sizeof(e))))
		z.complete()
	}
	all := unix.SockExtendedErr{Origin: unix.SO_EE_ORIGIN_ZEROCOPY, Info: math.MaxUint32 - 1, Data: 1}
	for _, other := range []unix.SockExtendedErr{{Origin: unix.SO_EE_ORIGIN_ICMP, Data: 1}, {Origin: unix.SO_EE_ORIGIN_ZEROCOPY, Errno: 1, Data: 1}} {
		message(unix.SOL_IP, unix.IP_RECVERR, other)
	}
	message(unix.SOL_SOCKET, unix.SCM_RIGHTS, all)
	if z.inUse != 4 {
		t.Fatalf("messages about something else freed buffers: %d of 4 are in use", z.inUse)
	}
	message(unix.SOL_IP, unix.IP_RECVERR, unix.SockExtendedErr{Origin: all.Origin, Info: all.Info, Data: all.Info})
	if z.inUse != 3 || z.used[6] || z.count != (ZeroCopyCount{Completed: 1}) {
		t.Errorf("after one send: in use %v, %+v", z.used, z.count)
	}
	all.Code = unix.SO_EE_CODE_ZEROCOPY_COPIED
	message(unix.SOL_IPV6, unix.IPV6_RECVERR, all)
	if z.inUse != 0 || z.count != (ZeroCopyCount{Completed: 4, Copied: 3}) {
		t.Errorf("after all: in use %v, %+v", z.used, z.count)
	}
}

// A sender whose buffers are all in use, or that the kernel refuses for lack of memory, waits: it
// does not spin.
func TestZeroCopyWaits(t *testing.T) {
	for _, raw := range []bool{false, true} {
		z, _ := zeroCopyPair(t, raw, 4, 64<<10) // nothing reads: its buffers stay in use
		full := func(for_ time.Duration) (calls int) {
			for end := time.Now().Add(for_); time.Now().Before(end); calls++ {
				if n, err := z.Send(64 << 10); n > 0 {
					calls = 0
				} else if !errors.Is(err, ErrAgain) {
					t.Fatal(err)
				}
			}
			return calls
		}
		// Each call lasts a millisecond at least.
		if n := full(300 * time.Millisecond); n > 300 || !z.Full() && z.Pending() == 4 {
			t.Errorf("raw %t: %d calls in 300 ms with %d buffers in use, full %t", raw, n, z.Pending(), z.Full())
		}
		z.NeverWait()
		if z.Pending() == 4 {
			if _, err := z.Send(1); !errors.Is(err, ErrAgain) || !z.Full() {
				t.Errorf("raw %t: with all buffers in use: %v", raw, err)
			}
		}
	}
}

// An option that the socket does not have is an error of one line that says what to do.
func TestZeroCopyUnsupported(t *testing.T) {
	fds := must.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	if err := setZeroCopy(fds[0]); err == nil || !strings.Contains(err.Error(), "set SO_ZEROCOPY: this kernel does not") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a socket without zero copy: %v", err)
	}
}
