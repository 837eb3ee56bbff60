//go:build linux

package linuxnet

import (
	"net"
	"net/netip"
	"strings"

	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Each function below returns the expressions of one clause of a rule; its comment shows
// the clause in nft(8) syntax.

func join(clauses ...[]expr.Any) []expr.Any {
	var all []expr.Any
	for _, c := range clauses {
		all = append(all, c...)
	}
	return all
}

func one(e expr.Any) []expr.Any { return []expr.Any{e} }

func equal(op expr.CmpOp, data []byte) expr.Any {
	return &expr.Cmp{Op: op, Register: regA, Data: data}
}

func immediate(reg uint32, data []byte) []expr.Any {
	return one(&expr.Immediate{Register: reg, Data: data})
}

// nftObjectCounter is NFT_OBJECT_COUNTER of the kernel's nf_tables.h.
const nftObjectCounter = 1

func count(name string) []expr.Any {
	return one(&expr.Objref{Type: nftObjectCounter, Name: name})
}

func nfproto(a netip.Addr) uint32 {
	if a.Is6() {
		return unix.NFPROTO_IPV6
	}
	return unix.NFPROTO_IPV4
}

// family: meta nfproto ipv4|ipv6.
func family(a netip.Addr) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: regA}, equal(expr.CmpOpEq, []byte{byte(nfproto(a))})}
}

// device: iifname|oifname == or != name. A name that ends in * stands for any ending: only
// what precedes it is compared.
func device(key expr.MetaKey, op expr.CmpOp, name string) []expr.Any {
	prefix, wildcard := strings.CutSuffix(name, "*")
	data := []byte(prefix)
	if !wildcard {
		data = append(data, make([]byte, unix.IFNAMSIZ-len(data))...)
	}
	return []expr.Any{&expr.Meta{Key: key, Register: regA}, equal(op, data)}
}

// toLocal: fib daddr type local.
func toLocal() []expr.Any {
	return []expr.Any{
		&expr.Fib{Register: regA, ResultADDRTYPE: true, FlagDADDR: true},
		equal(expr.CmpOpEq, binaryutil.NativeEndian.PutUint32(unix.RTN_LOCAL)),
	}
}

// source: meta l4proto proto, th sport port; and destination: th dport port.
func source(proto byte, port uint16) []expr.Any      { return portAt(0, proto, port) }
func destination(proto byte, port uint16) []expr.Any { return portAt(2, proto, port) }

func portAt(offset uint32, proto byte, port uint16) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: regA}, equal(expr.CmpOpEq, []byte{proto}),
		&expr.Payload{DestRegister: regA, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: 2},
		equal(expr.CmpOpEq, binaryutil.BigEndian.PutUint16(port)),
	}
}

// from: ip|ip6 saddr prefix.
func from(p netip.Prefix) []expr.Any { return address(p, 12, 8) }

// to: ip|ip6 daddr address.
func to(a netip.Addr) []expr.Any { return address(netip.PrefixFrom(a, a.BitLen()), 16, 24) }

func address(p netip.Prefix, offset4, offset6 uint32) []expr.Any {
	bytes, offset := uint32(p.Addr().BitLen()/8), offset4
	if p.Addr().Is6() {
		offset = offset6
	}
	return []expr.Any{
		&expr.Payload{DestRegister: regA, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: bytes},
		&expr.Bitwise{SourceRegister: regA, DestRegister: regA, Len: bytes,
			Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()), Xor: make([]byte, bytes)},
		equal(expr.CmpOpEq, p.Masked().Addr().AsSlice()),
	}
}

// established: ct state established,related.
func established() []expr.Any { return state(expr.CtStateBitESTABLISHED | expr.CtStateBitRELATED) }

// state: ct state bits.
func state(bits uint32) []expr.Any {
	return []expr.Any{
		&expr.Ct{Register: regA, Key: expr.CtKeySTATE},
		&expr.Bitwise{SourceRegister: regA, DestRegister: regA, Len: 4,
			Mask: binaryutil.NativeEndian.PutUint32(bits), Xor: binaryutil.NativeEndian.PutUint32(0)},
		equal(expr.CmpOpNeq, binaryutil.NativeEndian.PutUint32(0)),
	}
}
