//go:build linux

package linuxnet

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
)

// The round trip is what the kernel tells the owner of the connection, and never 0 where it is unknown.
func TestShortestRTT(t *testing.T) {
	ns := needNS(t)
	shortest := func(pid int) (rtt time.Duration, failed error) {
		err := ns.Do(func() error { rtt, failed = ShortestRTT(pid); return nil })
		return rtt, errors.Join(err, failed)
	}
	if rtt, err := shortest(os.Getpid()); !errors.Is(err, ErrNoConnection) || rtt != 0 {
		t.Errorf("without a connection: %v, %v", rtt, err)
	}
	var client, server *net.TCPConn
	must.Do(t, ns.Do(func() error {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv6loopback})
		if err != nil {
			return err
		}
		defer l.Close()
		if client, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr)); err != nil {
			return err
		}
		server, err = l.AcceptTCP()
		return err
	}))
	defer client.Close()
	must.Get(client.Write([]byte("x")))(t)
	must.Get(server.Read(make([]byte, 1)))(t)
	_, err := shortest(os.Getpid())
	must.Fail(t, err, "2 TCP connections")

	// The other end goes to a program that only holds it.
	file := must.Get(server.File())(t)
	holder := exec.CommandContext(t.Context(), "cat")
	stdin := must.Get(holder.StdinPipe())(t)
	holder.ExtraFiles = []*os.File{file}
	must.Do(t, holder.Start())
	t.Cleanup(func() { stdin.Close(); _ = holder.Wait() })
	must.Do(t, errors.Join(file.Close(), server.Close()))
	var told *unix.TCPInfo
	raw := must.Get(client.SyscallConn())(t)
	must.Do(t, raw.Control(func(fd uintptr) { told, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }))
	must.Do(t, err)
	must.Equal(t, time.Duration(told.Min_rtt)*time.Microsecond, must.Get(shortest(os.Getpid()))(t))
	if rtt, err := shortest(holder.Process.Pid); err != nil || rtt <= 0 {
		t.Errorf("of another process: %v, %v", rtt, err)
	}
	must.True(t, told.Min_rtt != 0, "the kernel tells no round trip")
}
