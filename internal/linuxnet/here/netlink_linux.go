package here

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"time"

	"golang.org/x/sys/unix"
)

// replyTimeout limits the wait for a reply. The kernel replies within milliseconds.
const replyTimeout = 30 * time.Second

// message is a netlink message (netlink(7)) without its header.
type message struct {
	kind, flags uint16
	body        []byte
}

// dumpTries is the maximum number of reads of a list that changes while it is read.
const dumpTries = 5

// errInterrupted means that a list changed while it was read.
var errInterrupted = fmt.Errorf("it changed during each of %d reads; try again when fewer devices and rules are created", dumpTries)

// list asks for all objects of a kind.
func list(family int, kind uint16, body []byte) (out []message, err error) {
	for range dumpTries {
		if out, err = exchange(family, kind, unix.NLM_F_DUMP, body); !errors.Is(err, errInterrupted) {
			return out, err
		}
	}
	return nil, err
}

// ask asks for one object.
func ask(family int, kind uint16, body []byte) (message, error) {
	out, err := exchange(family, kind, 0, body)
	if err == nil && len(out) == 0 {
		err = errors.New("the kernel returned none")
	}
	if err != nil {
		return message{}, err
	}
	return out[0], nil
}

// sequence is the number of the only request of a socket.
const sequence = 1

// exchange sends a request in the namespace of this thread, and returns the replies.
func exchange(family int, kind, flags uint16, body []byte) ([]message, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, family)
	if err != nil {
		return nil, fmt.Errorf("open netlink: %w", err)
	}
	defer unix.Close(fd)
	limit := unix.NsecToTimeval(replyTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return nil, fmt.Errorf("open netlink: %w", err)
	}
	request := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(body))
	order := binary.NativeEndian
	order.PutUint32(request, uint32(unix.SizeofNlMsghdr+len(body)))
	order.PutUint16(request[4:], kind)
	order.PutUint16(request[6:], flags|unix.NLM_F_REQUEST)
	order.PutUint32(request[8:], sequence)
	kernel := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	if err := unix.Sendto(fd, append(request, body...), 0, kernel); err != nil {
		return nil, err
	}
	var out []message
	for {
		packet, err := receive(fd)
		if err != nil {
			return nil, err
		}
		more, done, err := messages(packet)
		if out = append(out, more...); err != nil || done || flags&unix.NLM_F_DUMP == 0 {
			return out, err
		}
	}
}

// receive reads a packet of the kernel, however long it is.
func receive(fd int) ([]byte, error) {
	for {
		size, _, err := unix.Recvfrom(fd, nil, unix.MSG_PEEK|unix.MSG_TRUNC)
		if err == nil {
			packet := make([]byte, size)
			var n int
			var from unix.Sockaddr
			n, from, err = unix.Recvfrom(fd, packet, 0)
			if sender, ok := from.(*unix.SockaddrNetlink); err == nil && (!ok || sender.Pid != 0) {
				continue // not from the kernel
			}
			if err == nil {
				return packet[:n], nil
			}
		}
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return nil, fmt.Errorf("the kernel did not reply within %s", replyTimeout)
		default:
			return nil, err
		}
	}
}

// messages reads the messages of a packet up to the end of a list, which done reports.
func messages(packet []byte) (out []message, done bool, err error) {
	order := binary.NativeEndian
	for len(packet) >= unix.SizeofNlMsghdr {
		size := int(order.Uint32(packet))
		if size < unix.SizeofNlMsghdr || size > len(packet) {
			return out, true, errors.New("the kernel's reply is truncated")
		}
		m := message{order.Uint16(packet[4:]), order.Uint16(packet[6:]), packet[unix.SizeofNlMsghdr:size]}
		mine := order.Uint32(packet[8:]) == sequence
		packet = packet[min(len(packet), aligned(size)):]
		if !mine {
			continue
		}
		if m.flags&unix.NLM_F_DUMP_INTR != 0 {
			err = errInterrupted // unless the kernel reports an error further on
		}
		switch m.kind {
		case unix.NLMSG_ERROR, unix.NLMSG_DONE:
			if len(m.body) >= 4 && number(m.body) != 0 {
				return out, true, unix.Errno(-int32(number(m.body))) //nolint:gosec // a negative int in the kernel
			}
			return out, true, err
		case unix.NLMSG_NOOP:
		default:
			out = append(out, m)
		}
	}
	return out, false, err
}

// aligned rounds a length up to four bytes.
func aligned(n int) int { return (n + 3) &^ 3 }

// typeMask selects the type of an attribute, besides two flags.
const typeMask = 0x3fff

// attributes iterates over attributes: each is a length, a type and a value, padded to four bytes.
func attributes(b []byte) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(b) >= unix.SizeofNlAttr {
			size := int(binary.NativeEndian.Uint16(b))
			if size < unix.SizeofNlAttr || size > len(b) || !yield(binary.NativeEndian.Uint16(b[2:])&typeMask, b[unix.SizeofNlAttr:size]) {
				return
			}
			b = b[min(len(b), aligned(size)):]
		}
	}
}

// appendAttribute appends an attribute.
func appendAttribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofNlAttr+len(value))) //nolint:gosec // an address
	b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
	return append(b, make([]byte, aligned(len(b))-len(b))...)
}

// number returns an attribute's number, 0 if it has none.
func number(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(b)
}

// text returns an attribute's text, which ends with a zero byte.
func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
