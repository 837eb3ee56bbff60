package peers

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/must"
	"tare/internal/testkit/nstest"
	"tare/internal/testkit/testneed"
	"tare/internal/timelimit"
)

func TestMain(m *testing.M) {
	nstest.Enter()
	m.Run()
}

// The tap sees each datagram that crosses a lab, and only those of the size.
func TestTap(t *testing.T) {
	testneed.NotShort(t)
	if err := linuxnet.Try(); err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
	claim := must.Get(lab.Standalone())(t)
	defer claim.Release()
	l := must.Get(lab.Up(lab.Spec{Claim: claim, Label: "tap", MTU: lab.DefaultMTU, Offload: true, Pin: linuxnet.RealRoot()}))(t)
	defer l.Close()
	tap := must.Get(newTap(l.B, 1000))(t)
	defer tap.close()
	sent := 0
	must.Do(t, l.A.NS.Do(func() error {
		c, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: l.B.Addr[0].AsSlice(), Port: 9})
		if err != nil {
			return err
		}
		defer c.Close()
		// On one CPU: what is sent from several has no order.
		if err := onOneCPU(); err != nil {
			return err
		}
		for i := range 300 {
			// The connection may be refused because no socket listens: such a write sends nothing.
			if _, err := c.Write(make([]byte, 64+i%3)); err == nil {
				sent++
			}
		}
		return nil
	}))
	var packets []packet
	for wait := time.Now().Add(timelimit.Scaled(10 * time.Second)); len(packets) < sent && time.Now().Before(wait); time.Sleep(time.Millisecond) {
		packets, _ = tap.packets(0)
	}
	sizes := map[int]int{}
	for i, p := range packets {
		sizes[p.payload]++
		if i > 0 && p.at < packets[i-1].at {
			t.Errorf("datagram %d came before the one before it", i)
		}
	}
	if len(packets) != sent || sent < 100 || sizes[64]+sizes[65]+sizes[66] != len(packets) {
		t.Errorf("%d datagrams of the sizes %v", len(packets), sizes)
	}
	if only, full := tap.packets(65); len(only) != sizes[65] || full {
		t.Errorf("%d of 65 B, want %d; full %t", len(only), sizes[65], full)
	}
}

// onOneCPU keeps the calling thread on one of its CPUs. The thread of a namespace ends with its call.
func onOneCPU() error {
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	for cpu := range 1024 {
		if all.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	return unix.SchedSetaffinity(0, &one)
}
