package drops_test

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"tare/internal/linuxnet"
	"tare/internal/observe/drops"
	"tare/internal/result"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

const size = 1000 // bytes of payload

// watcher returns a Watcher for the whole test. It needs a privilege and the kernel's type
// information: a rejected program is a failure.
func watcher(t *testing.T) *drops.Watcher {
	t.Helper()
	testneed.NotShort(t)
	w, err := drops.New("/proc")
	if _, none := os.Stat("/sys/kernel/btf/vmlinux"); errors.Is(err, fs.ErrPermission) || err != nil && none != nil {
		testneed.Missing(t, testneed.BPF, err)
	}
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, w.Close()) })
	return w
}

func namespace(t *testing.T, name string) *linuxnet.NS {
	t.Helper()
	testneed.NotShort(t)
	ns, err := linuxnet.NewNS("tare-test-drops-" + name)
	if err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

// listen opens a UDP socket in a namespace, with the smallest receive buffer there is.
func listen(t *testing.T, ns *linuxnet.NS, on string) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	must.Do(t, ns.Do(func() (err error) {
		c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(on)))
		return err
	}))
	t.Cleanup(func() { c.Close() })
	must.Do(t, c.SetReadBuffer(1))
	return c
}

func portOf(c *net.UDPConn) uint16 { return c.LocalAddr().(*net.UDPAddr).AddrPort().Port() }

// ends returns endpoints with any address and these ports.
func ends(ports ...uint16) (out []netip.AddrPort) {
	for _, p := range ports {
		out = append(out, netip.AddrPortFrom(netip.Addr{}, p))
	}
	return out
}

// send sends datagrams to a port, and ignores that nothing listens there.
func send(t *testing.T, ns *linuxnet.NS, to netip.AddrPort, n int) {
	t.Helper()
	var c *net.UDPConn
	must.Do(t, ns.Do(func() (err error) {
		c, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		return err
	}))
	defer c.Close()
	for range n {
		for {
			_, err := c.Write(make([]byte, size))
			if errors.Is(err, syscall.ECONNREFUSED) {
				continue // the error of an earlier datagram: this one was not sent
			}
			must.Do(t, err)
			break
		}
	}
}

// settle reads what arrives at c, which may be nil, until it and the counted drops add up
// to what was sent. It gives up after a while; the caller then finds a wrong sum.
func settle(t *testing.T, s *drops.Session, c *net.UDPConn, sent int) (got int) {
	t.Helper()
	buf := make([]byte, 64<<10)
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		if c != nil {
			must.Do(t, c.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
			switch n, err := c.Read(buf); {
			case err == nil:
				got += n / size
				continue
			case !errors.Is(err, os.ErrDeadlineExceeded):
				t.Fatal(err)
			}
		}
		dropped := must.Get(s.Peek())(t)
		if got+int(dropped) >= sent {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return got
}

// sum returns how many datagrams were dropped for a reason, and how many for others.
func sum(all []result.DropReason, reason string) (of, other int64) {
	for _, d := range all {
		if d.Reason == reason {
			of += d.Count
		} else {
			other += d.Count
		}
	}
	return of, other
}

// stop ends a session and returns its flows' results, and by how much the counts may be too
// low: on a busy machine a packet may be dropped in an interrupt while another one is being
// counted.
func stop(t *testing.T, s *drops.Session, flows int) (out [][]result.DropReason, tol tolerance) {
	t.Helper()
	for i := range flows {
		found := must.Get(s.Read(i))(t)
		if found.Missing != "" {
			t.Logf("the counts may be too low: %s", found.Missing)
			tol = 5
		}
		out = append(out, found.Reasons)
	}
	must.Do(t, s.Stop())
	return out, tol
}

// tolerance is how many datagrams may be missing.
type tolerance int64

func (t tolerance) fits(got, want int64) bool { return got <= want && got >= want-int64(t) }

func start(t *testing.T, w *drops.Watcher, flows ...drops.Flow) *drops.Session {
	t.Helper()
	s := must.Get(w.Start(len(flows)))(t)
	for i, f := range flows {
		must.Do(t, s.Set(i, f))
	}
	return s
}
