//go:build linux

package linuxnet

import (
	"errors"
	"fmt"

	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// The counters of CountTCPIngress.
const (
	CountOpened      = "opened"       // SYN to a port of the range: one for each connection
	CountToPorts     = "to_ports"     // to a port of the range
	CountFromPorts   = "from_ports"   // from a port of the range
	CountOtherTCP    = "other_tcp"    // to and from other ports
	CountClientHello = "client_hello" // a TLS ClientHello to a port of the range
	CountServerHello = "server_hello" // a TLS ServerHello from a port of the range
	CountClearHTTP   = "clear_http"   // a request of HTTP, or the start of HTTP/2, in the clear to a port of the range
)

// The offsets of the ports in a TCP header.
const (
	sourcePort      = 0
	destinationPort = 2
)

// payloadBaseInnerHeader is what follows the transport header (linux/netfilter/nf_tables.h,
// NFT_PAYLOAD_INNER_HEADER, since Linux 5.16).
const payloadBaseInnerHeader expr.PayloadBase = 3

// The first message of each side of a TLS connection (RFC 8446 section 4).
const (
	clientHello = 1
	serverHello = 2
)

// CountTCPIngress counts the TCP packets that a device receives, without affecting them: those
// to and from the ports first to last, those to and from others, packets that open a connection,
// and, if hellos is set, the first messages of TLS, and those of HTTP. They are counted where they begin a packet.
// Read the counters with IngressCounts; they are removed with the device.
func (ns *Rules) CountTCPIngress(table, dev string, first, last uint16, hellos bool) error {
	within := func(op expr.CmpOp, offset uint32) []expr.Any {
		return []expr.Any{&expr.Payload{DestRegister: regA, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: 2},
			&expr.Range{Op: op, Register: regA, FromData: binaryutil.BigEndian.PutUint16(first), ToData: binaryutil.BigEndian.PutUint16(last)}}
	}
	to, from := within(expr.CmpOpEq, destinationPort), within(expr.CmpOpEq, sourcePort)
	kinds := []kind{
		overTCP(CountOpened, to, opens()), overTCP(CountToPorts, to), overTCP(CountFromPorts, from),
		overTCP(CountOtherTCP, within(expr.CmpOpNeq, destinationPort), within(expr.CmpOpNeq, sourcePort)),
	}
	if hellos {
		kinds = append(kinds, overTCP(CountClientHello, to, hello(clientHello)), overTCP(CountServerHello, from, hello(serverHello)))
		clearly := kind{name: CountClearHTTP}
		for _, start := range []string{"GET ", "POST ", "PRI * HTTP"} {
			clearly.match = append(clearly.match, overTCP("", to, beginsWith(0, []byte(start)...)).match...)
		}
		kinds = append(kinds, clearly)
	}
	err := ns.countIngress(table, dev, kinds)
	if hellos && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP)) {
		return fmt.Errorf("%w: %w", ErrPayloadMatch, err)
	}
	return err
}

// ErrPayloadMatch is the error that the kernel's packet filter cannot read what follows the
// transport header.
var ErrPayloadMatch = errors.New("the kernel's nftables cannot match the payload of TCP, which needs Linux 5.16 or later")

// overTCP is the TCP packets over IPv4 and IPv6 that match all clauses.
func overTCP(name string, clauses ...[]expr.Any) kind {
	k := kind{name: name}
	for _, protocol := range []uint16{unix.ETH_P_IP, unix.ETH_P_IPV6} {
		k.match = append(k.match, join(isProtocol(protocol), transport(unix.IPPROTO_TCP), join(clauses...)))
	}
	return k
}

// opens: tcp flags & (syn | ack) == syn.
func opens() []expr.Any {
	const flags, syn, ack = 13, 0x02, 0x10
	return []expr.Any{
		&expr.Payload{DestRegister: regA, Base: expr.PayloadBaseTransportHeader, Offset: flags, Len: 1},
		&expr.Bitwise{SourceRegister: regA, DestRegister: regA, Len: 1, Mask: []byte{syn | ack}, Xor: []byte{0}},
		equal(expr.CmpOpEq, []byte{syn}),
	}
}

// hello: @ih,0,16 0x1603 @ih,40,8 message. A record of type handshake, of any version 3.x, begins
// with the message.
func hello(message byte) []expr.Any {
	return join(beginsWith(0, 0x16, 0x03), beginsWith(5, message))
}

// beginsWith matches a packet with these bytes after that many bytes of its payload.
func beginsWith(offset uint32, want ...byte) []expr.Any {
	return []expr.Any{&expr.Payload{DestRegister: regA, Base: payloadBaseInnerHeader, Offset: offset, Len: uint32(len(want))}, equal(expr.CmpOpEq, want)}
}
