//go:build linux

package linuxnet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Capture is a packet socket that receives a copy of every frame that a device sends or
// receives (packet(7)).
type Capture struct {
	fd   int
	name string
}

// Capture starts a capture. It requires CONFIG_PACKET.
func (ns *NS) Capture(dev string) (*Capture, error) {
	c := &Capture{name: dev}
	err := ns.Do(func() error {
		link, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		c.fd = link
		i, err := index(dev)
		if err == nil {
			err = unix.Bind(link, &unix.SockaddrLinklayer{Protocol: bigEndian(unix.ETH_P_ALL), Ifindex: i})
		}
		if err != nil {
			unix.Close(link)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("capture frames of %s (needs CONFIG_PACKET): %w", dev, err)
	}
	return c, nil
}

// index returns the number of a device in the namespace of the calling thread.
func index(dev string) (int, error) {
	request, err := unix.NewIfreq(dev)
	if err != nil {
		return 0, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, request)
	return int(request.Uint32()), err
}

// bigEndian converts a number to network byte order.
func bigEndian(n uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, n))
}

// largestFrame is that of a packet of 64 KiB with its headers.
const largestFrame = 65536 + 128

// Frames returns the frames since the last call. It fails if the kernel dropped copies.
func (c *Capture) Frames() (frames [][]byte, err error) {
	buf := make([]byte, largestFrame)
	for {
		n, _, err := unix.Recvfrom(c.fd, buf, 0)
		if errors.Is(err, unix.EAGAIN) {
			break
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read frames of %s: %w", c.name, err)
		}
		frames = append(frames, append([]byte(nil), buf[:n]...))
	}
	stats, err := unix.GetsockoptTpacketStats(c.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return nil, fmt.Errorf("read frames of %s: %w", c.name, err)
	}
	if stats.Drops > 0 {
		return nil, fmt.Errorf("read frames of %s: %d of %d were dropped", c.name, stats.Drops, stats.Packets)
	}
	return frames, nil
}

// Close ends the capture.
func (c *Capture) Close() error { return unix.Close(c.fd) }
