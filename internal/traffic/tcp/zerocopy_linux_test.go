package tcp

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/linuxnet"
	"tare/internal/must"
	"tare/internal/testneed"
	"tare/internal/traffic"
)

// zeroCopyPairings are all pairs of implementations of which the senders can send without copying.
func zeroCopyPairings(p traffic.Params) []pairing {
	f, other := fastest(), portablePath()
	switch {
	case p.Both:
		return []pairing{{f, f}}
	case p.Reverse:
		return []pairing{{f, f}, {f, other}}
	}
	return []pairing{{f, f}, {other, f}}
}

// All that is sent without copying arrives, in every shape of a trial; the kernel returned every
// buffer, and copied for the local receiver.
func TestZeroCopy(t *testing.T) {
	for _, s := range shapes() {
		// With a window smaller than a segment of loopback, whose segments have up to 64 KiB, Linux holds
		// back small writes without copying for 0.2 s each.
		if s.kind != "tcp_stream" || strings.HasPrefix(s.what, "bounded buffers") {
			continue
		}
		for _, sliced := range []bool{false, true} {
			p := params(s.kind)
			s.change(&p)
			p.ZeroCopy = true
			if p.SendBuffer < 0 {
				p.SendBuffer = 256 << 10 // all streams together lock less memory than an ordinary user may
			}
			all := zeroCopyPairings(p)
			if sliced { // does not depend on the receiver
				p.Slice, p.Rounds = 40*time.Millisecond, 3
				all = all[:1]
			}
			for _, on := range all {
				t.Run(fmt.Sprintf("%s/sliced %t/%s", s.what, sliced, on), func(t *testing.T) {
					p, client, server, err := grown(t.Context(), stream{on.client}, stream{on.server}, p)
					must.Do(t, err)
					agree(t, p, client, server)
					checkMetrics(t, p, client, server)
					for end, r := range map[string]traffic.Report{"client": client, "server": server} {
						z := r.ZeroCopy
						switch {
						case !isSender(p, end == "client"):
							if z != nil {
								t.Errorf("the %s sent nothing, but counts %+v", end, z)
							}
						case z == nil || z.Completed < r.Sent/int64(p.WriteSize) || z.Copied != z.Completed:
							t.Errorf("the %s sent %d bytes in writes of %d, and counts %+v", end, r.Sent, p.WriteSize, z)
						}
					}
					if m, _ := (stream{}).Metrics(p, client, server); m["copied_ratio"] != 1 {
						t.Errorf("metrics %v", m)
					}
				})
			}
		}
	}
}

// A trial without the setting neither counts nor uses it.
func TestZeroCopyOff(t *testing.T) {
	p := params("tcp_stream")
	client, server, err := pair(t, pairing{fastest(), fastest()}, p)
	if err != nil || client.ZeroCopy != nil || server.ZeroCopy != nil {
		t.Errorf("%v, %+v and %+v", err, client.ZeroCopy, server.ZeroCopy)
	}
	if m, _ := (stream{}).Metrics(p, client, server); m["copied_ratio"] != 0 {
		t.Errorf("metrics %v", m)
	}
}

// A sender that cannot send without copying refuses the trial. A receiver needs nothing for it.
func TestZeroCopyRefused(t *testing.T) {
	p := params("tcp_stream")
	p.ZeroCopy = true
	portable := stream{portablePath()}
	for _, both := range []bool{false, true} {
		p := p
		p.Both = both
		must.FailLine(t, fmt.Sprintf("both %t", both), must.Err(portable.Dial(t.Context(), p, nil)), "zero_copy requires a sender on Linux")
	}
	p.Reverse = true
	if _, err := portable.Listen(p); err == nil || !strings.Contains(err.Error(), "zero_copy requires") {
		t.Errorf("the portable server gave %v", err)
	}
	p.Reverse, p.Streams, p.WriteSize = false, 1000, 16<<20
	if _, err := (stream{fastest()}).Dial(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "use smaller writes or fewer streams") {
		t.Errorf("buffers of 16 GiB: %v", err)
	}
}

// The buffers of a trial are bounded, the same in all its slices, and free at its end, however it ends.
func TestZeroCopyMemory(t *testing.T) {
	var mapped, live atomic.Int64
	f, own := fastest(), fastest().threads
	counted := *own
	counted.mapZeroCopy = func(n int) ([]byte, error) {
		mapped.Add(int64(n))
		live.Add(int64(n))
		return own.mapZeroCopy(n)
	}
	counted.unmapZeroCopy = func(b []byte) {
		live.Add(-int64(len(b)))
		own.unmapZeroCopy(b)
	}
	f.threads = &counted
	for _, rounds := range []int{0, 3} {
		p := params("tcp_stream")
		p.ZeroCopy, p.Both, p.Streams, p.Rounds, p.Slice, p.WriteSize = true, true, 3, rounds, 40*time.Millisecond, 64<<10
		mapped.Store(0)
		if _, _, err := pair(t, pairing{f, f}, p); err != nil {
			t.Fatal(err)
		}
		must.EqualFor(t, fmt.Sprintf("%d slices: bytes mapped, and not free", rounds), []int64{6 * zeroCopyMemory, 0}, []int64{mapped.Load(), live.Load()})
		p.Reverse, p.Both = false, false
		p.Address = impostor(t, p, func(c net.Conn) {
			_, _ = c.Write([]byte{goByte})
			_, _ = io.CopyN(io.Discard, c, 100_000)
		})
		p.Streams, p.Duration = 1, time.Minute
		if _, err := runClient(t.Context(), stream{f}, p); err == nil || !strings.Contains(err.Error(), "send: ") || live.Load() != 0 {
			t.Errorf("%d slices: the server closed: %v, and %d bytes are not free", rounds, err, live.Load())
		}
	}
}

// In a kernel with little memory to account for sends without copying, a sender waits for it, and
// a sender that gets none fails.
func TestZeroCopyWithoutMemory(t *testing.T) {
	const limit = "net/core/optmem_max"
	testneed.NotShort(t)
	if err := linuxnet.Try(); err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
	ns := must.Get(linuxnet.NewNS("tare-test-optmem", false))(t)
	defer ns.Close()
	if err := ns.Sysctl(limit, "0"); err != nil {
		testneed.Missing(t, testneed.Feature, err)
	}
	for _, threads := range []int{0, 1} {
		p := params("tcp_stream")
		p.ZeroCopy, p.Streams, p.Threads, p.WriteSize = true, 2, threads, 16<<10
		// For one send at a time.
		r := inNamespace(t, helperTask{Params: p}, map[string]string{limit: "1000"})
		if r.Error != "" {
			t.Fatalf("%d threads: %s", threads, r.Error)
		}
		agree(t, p, r.Client, r.Server)
		if r.Client.ZeroCopy.Refused == 0 || !noted(r.Client, "zero_copy_refused") {
			t.Errorf("%d threads: %+v, notes %v", threads, r.Client.ZeroCopy, r.Client.Notes)
		}
		r = inNamespace(t, helperTask{Params: p}, map[string]string{limit: "0"})
		if !strings.Contains(r.Error, "the kernel refused each send without copying") || r.Client.Sent > 0 {
			t.Errorf("%d threads: %q after %d bytes", threads, r.Error, r.Client.Sent)
		}
	}
}

// Cancelling a trial that sends without copying ends it.
func TestZeroCopyCancelled(t *testing.T) {
	for _, threads := range []int{0, 1} {
		p := params("tcp_stream")
		p.ZeroCopy, p.Streams, p.Threads, p.Duration = true, 2, threads, time.Minute
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, fmt.Errorf("enough"))
		address, end := serve(ctx, t, stream{fastest()}, p)
		p.Address = address
		_, err := stream{fastest()}.Dial(ctx, p, nil)
		cancel()
		if a := <-end; err == nil || a.err == nil || !strings.Contains(fmt.Sprint(err, a.err), "enough") {
			t.Errorf("%d threads: cancelled, but the client returned %v and the server %v", threads, err, a.err)
		}
	}
}
