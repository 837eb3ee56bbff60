package peers

import (
	"encoding/binary"
	"fmt"
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/lab"
)

// tap records when datagrams leave the path at host b, whoever sends and receives them.
// Nothing reads while traffic flows: the kernel writes a timestamp and the headers to a
// ring that is large enough for the whole run, so that all senders are disturbed equally,
// and little. A veth delivers a packet within its sender's system call, so the timestamp
// is that of the departure.
type tap struct {
	fd   int
	ring []byte
}

// packet is a recorded UDP datagram.
type packet struct {
	at      time.Duration // since some moment
	payload int           // bytes; the total for a super-packet
}

// A slot of the ring holds the kernel's header, the address and at least 46 bytes of the
// packet. packet(7) and linux/if_packet.h define the layout.
const (
	slotSize   = 128
	blockSize  = 1 << 20
	ipHeader   = 20
	udpHeader  = 8
	protoUDP   = 17
	slotKernel = 0 // to be filled by the kernel
)

// newTap starts to record up to the given number of packets.
func newTap(h *lab.Host, slots int) (t *tap, err error) {
	t = &tap{fd: -1}
	err = h.NS.Do(func() error { return t.open(h.Underlay, slots) })
	if err != nil {
		t.close()
		return nil, fmt.Errorf("record the datagrams at host %s: %w", h.Name, err)
	}
	return t, nil
}

func (t *tap) open(device string, slots int) error {
	dev, err := net.InterfaceByName(device)
	if err != nil {
		return err
	}
	if t.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	for _, o := range []struct{ level, name, value int }{
		{unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2},
		{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1}, // timestamps by the kernel at the device
		{unix.SOL_PACKET, unix.PACKET_TIMESTAMP, unix.SOF_TIMESTAMPING_SOFTWARE},
	} {
		if err := unix.SetsockoptInt(t.fd, o.level, o.name, o.value); err != nil {
			return fmt.Errorf("set option %d: %w", o.name, err)
		}
	}
	blocks := (slots*slotSize + blockSize - 1) / blockSize
	req := unix.TpacketReq{Block_size: blockSize, Block_nr: uint32(blocks), Frame_size: slotSize, Frame_nr: uint32(blocks * blockSize / slotSize)}
	if err := unix.SetsockoptTpacketReq(t.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return fmt.Errorf("create a ring of %d MiB: %w", blocks, err)
	}
	if t.ring, err = unix.Mmap(t.fd, 0, blocks*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("map the ring: %w", err)
	}
	ip := binary.NativeEndian.Uint16([]byte{unix.ETH_P_IP >> 8, unix.ETH_P_IP & 0xff})
	return unix.Bind(t.fd, &unix.SockaddrLinklayer{Protocol: ip, Ifindex: dev.Index})
}

// packets are the UDP datagrams recorded so far, of size payload bytes each, or of all
// sizes when that is 0. full means that the ring had no more space.
func (t *tap) packets(size int) (all []packet, full bool) {
	var first time.Duration
	for at := 0; at < len(t.ring); at += slotSize {
		slot := t.ring[at : at+slotSize]
		h := (*unix.Tpacket2Hdr)(unsafe.Pointer(&slot[0])) //nolint:gosec // how the kernel hands it over
		if h.Status == slotKernel {
			return all, false
		}
		ip := slot[h.Net:]
		if len(ip) < ipHeader || ip[9] != protoUDP || ip[0] != 0x45 {
			continue
		}
		stamp := time.Duration(h.Sec)*time.Second + time.Duration(h.Nsec)
		if first == 0 {
			first = stamp
		}
		p := packet{at: stamp - first, payload: int(h.Len) - int(h.Net-h.Mac) - ipHeader - udpHeader}
		if size == 0 || p.payload == size {
			all = append(all, p)
		}
	}
	return all, true
}

func (t *tap) close() {
	if t.ring != nil {
		_ = unix.Munmap(t.ring)
	}
	if t.fd >= 0 {
		unix.Close(t.fd)
	}
}
