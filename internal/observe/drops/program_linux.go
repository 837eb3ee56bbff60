// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
//
// What this file assembles runs in the kernel, which asks for the latter.

package drops

import "github.com/cilium/ebpf/asm"

// What a port of a protocol stands for, in the map of ports, and an address with a port
// in that of ends. From portFlow on it is a flow's number.
const (
	portShared = 0 // of several flows: the one whose turn it is
	portTunnel = 1 // of VXLAN: what counts is inside
	portEnd    = 2 // of those addresses only that are in the map of ends
	portFlow   = 3
)

// end is the key of the map of ends: an address, IPv4 as IPv6 has it, and a port.
type end struct {
	Address [16]byte
	Port    uint32
}

// key is what drops are counted by, as the program writes it.
type key struct {
	Location uint64
	Reason   uint32
	Flow     uint32
}

// Kernel numbers: linux/in.h, linux/if_ether.h, RFC 7348 section 5.
const (
	protoTCP      = 6
	protoUDP      = 17
	protoFragment = 44
	bytesIPv6     = 40
	bytesFragment = 8
	bytesVXLAN    = 8 + 8 + 14 // UDP, VXLAN, the inner Ethernet header
	notDropped    = 1          // the last of the reasons that are none: SKB_CONSUMED
	noExist       = 1          // BPF_NOEXIST
)

// The stack, as offsets from its top.
const (
	atHeader = -40  // an IP header, or what else was read of the packet
	atFrom   = -64  // an end: where the packet is from
	atTo     = -88  // and where it is bound for
	atKey    = -104 // of the map of counts
	atValue  = -112
	atField  = -120 // a field of a kernel structure

	sizeHeader = 40
	atPort     = 16 // within an end
)

// Registers that outlive a call.
const (
	packet  = asm.R6 // struct sk_buff
	head    = asm.R7 // its buffer
	cursor  = asm.R8 // where the parser is
	proto   = asm.R9 // of IP; later how many datagrams the packet stands for
	scratch = asm.R1
	second  = asm.R2
)

// fds are the file descriptors of what the program reads and writes.
type fds struct {
	ports  int // what a port of a protocol stands for
	ends   int // and one of an address
	turn   int // the flow whose turn it is, as one of those
	lost   int // datagrams that found no room in counts
	counts int // datagrams by key
}

// program is the one that is hooked to the tracepoint. It has no loop, and reads the
// packet only by bpf_probe_read_kernel, which fails where nothing is.
func program(l layout, m fds) asm.Instructions {
	argument := func(n int) asm.Instruction { return asm.LoadMem(scratch, asm.R6, int16(8*n), asm.DWord) }
	var p asm.Instructions
	p = append(p,
		asm.Mov.Reg(asm.R6, asm.R1), // the arguments, until the packet takes their place
		argument(l.location), asm.StoreMem(asm.RFP, atKey, scratch, asm.DWord),
		argument(l.reason), asm.Mov.Reg32(scratch, scratch), asm.JLE.Imm(scratch, notDropped, "exit"),
		asm.StoreMem(asm.RFP, atKey+8, scratch, asm.Word),
		argument(l.skb), asm.Mov.Reg(packet, scratch),
	)
	p = append(p, read(atField, 8, packet, l.head)...)
	p = append(p, asm.LoadMem(head, asm.RFP, atField, asm.DWord))
	p = append(p, read(atField, 2, packet, l.network)...)
	p = append(p, asm.LoadMem(cursor, asm.RFP, atField, asm.Half), asm.Add.Reg(cursor, head))
	p = append(p, find(m, "outer", "inner")...)
	p = append(p, find(m, "inner", "exit")...)
	p = append(p, count(l, m)...)
	return append(p, asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"), asm.Return())
}

// read copies size bytes at a base and an offset to the stack, and leaves the program
// where nothing is there.
func read(to int16, size int32, base asm.Register, offset int) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R3, base), asm.Add.Imm(asm.R3, int32(offset)), //nolint:gosec // offsets in structures of a few hundred bytes
		asm.Mov.Imm(asm.R2, size),
		asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, int32(to)),
		asm.FnProbeReadKernel.Call(),
		asm.JNE.Imm(asm.R0, 0, "exit"),
	}
}

// find parses the IP packet at the cursor and looks its ends up. It goes on at "count"
// with what they stand for in R1, or at tunnel with the cursor on the packet inside, or
// leaves the program. name tells its labels apart.
func find(m fds, name, tunnel string) asm.Instructions {
	at := func(label string) string { return name + "_" + label }
	p := read(atHeader, sizeHeader, cursor, 0)
	p[0] = p[0].WithSymbol(name)
	p = append(p,
		asm.LoadMem(scratch, asm.RFP, atHeader, asm.Byte),
		asm.Mov.Reg(second, scratch), asm.RSh.Imm(second, 4),
		asm.JEq.Imm(second, 4, at("v4")), asm.JNE.Imm(second, 6, "exit"),
	)
	for n := range int16(2) { // 8 bytes each of both addresses
		p = append(p,
			asm.LoadMem(second, asm.RFP, atHeader+8+8*n, asm.DWord), asm.StoreMem(asm.RFP, atFrom+8*n, second, asm.DWord),
			asm.LoadMem(second, asm.RFP, atHeader+24+8*n, asm.DWord), asm.StoreMem(asm.RFP, atTo+8*n, second, asm.DWord),
		)
	}
	p = append(p,
		asm.LoadMem(proto, asm.RFP, atHeader+6, asm.Byte), asm.Add.Imm(cursor, bytesIPv6),
		asm.JNE.Imm(proto, protoFragment, at("transport")),
	)
	p = append(p, read(atHeader, bytesFragment, cursor, 0)...)
	p = append(p,
		asm.LoadMem(second, asm.RFP, atHeader+2, asm.Half), asm.HostTo(asm.BE, second, asm.Half),
		asm.And.Imm(second, 0xfff8), asm.JNE.Imm(second, 0, "exit"), // not the first: no ports
		asm.LoadMem(proto, asm.RFP, atHeader, asm.Byte), asm.Add.Imm(cursor, bytesFragment),
		asm.Ja.Label(at("transport")),

		asm.LoadMem(second, asm.RFP, atHeader+6, asm.Half).WithSymbol(at("v4")), asm.HostTo(asm.BE, second, asm.Half),
		asm.And.Imm(second, 0x1fff), asm.JNE.Imm(second, 0, "exit"),
		asm.LoadMem(proto, asm.RFP, atHeader+9, asm.Byte),
		asm.And.Imm(scratch, 15), asm.LSh.Imm(scratch, 2), asm.Add.Reg(cursor, scratch),
	)
	for _, e := range []struct{ to, from int16 }{{atFrom, atHeader + 12}, {atTo, atHeader + 16}} { // as ::ffff:a.b.c.d
		p = append(p,
			asm.StoreImm(asm.RFP, e.to, 0, asm.Word), asm.StoreImm(asm.RFP, e.to+4, 0, asm.Word),
			asm.StoreImm(asm.RFP, e.to+8, 0, asm.Half), asm.StoreImm(asm.RFP, e.to+10, 0xffff, asm.Half),
			asm.LoadMem(second, asm.RFP, e.from, asm.Word), asm.StoreMem(asm.RFP, e.to+12, second, asm.Word),
		)
	}
	p = append(p,
		asm.JEq.Imm(proto, protoUDP, at("ports")).WithSymbol(at("transport")),
		asm.JNE.Imm(proto, protoTCP, "exit"),
	)
	ports := read(atHeader, 4, cursor, 0)
	ports[0] = ports[0].WithSymbol(at("ports"))
	p = append(p, ports...)
	p = append(p, known(m, atTo, atHeader+2, at("from"))...)
	p = append(p, // with R1 as the map of ports has it: a tunnel's packets are bound for its port
		asm.Add.Imm(cursor, bytesVXLAN),
		asm.JEq.Imm(scratch, portTunnel, tunnel),
	)
	p = append(p, belongs(m, atTo, at("to_port"), at("from"))...)
	from := known(m, atFrom, atHeader, "exit")
	from[0] = from[0].WithSymbol(at("from"))
	p = append(p, from...)
	p = append(p, asm.JEq.Imm(scratch, portTunnel, "exit"))
	return append(p, belongs(m, atFrom, at("from_port"), "exit")...)
}

// known looks a port up that was read, and goes on with what it stands for in R1, or
// elsewhere if it stands for nothing.
func known(m fds, atEnd, port int16, elsewhere string) asm.Instructions {
	p := asm.Instructions{
		asm.LoadMem(scratch, asm.RFP, port, asm.Half), asm.HostTo(asm.BE, scratch, asm.Half),
		asm.Mov.Reg(second, proto), asm.LSh.Imm(second, 16), asm.Or.Reg(scratch, second),
		asm.StoreMem(asm.RFP, atEnd+atPort, scratch, asm.Word),
	}
	p = append(p, lookup(m.ports, atEnd+atPort)...)
	return append(p, asm.JEq.Imm(asm.R0, 0, elsewhere), asm.LoadMem(scratch, asm.R0, 0, asm.Word))
}

// belongs looks an end up whose port stands for what is in R1. It goes on at "count"
// with what the end stands for, or else the port, and elsewhere if neither is a flow's.
// name is its label.
func belongs(m fds, atEnd int16, name, elsewhere string) asm.Instructions {
	p := asm.Instructions{asm.Mov.Reg(cursor, scratch)} // the packet is parsed
	p = append(p, lookup(m.ends, atEnd)...)
	return append(p,
		asm.Mov.Reg(scratch, cursor),
		asm.JEq.Imm(asm.R0, 0, name),
		asm.LoadMem(scratch, asm.R0, 0, asm.Word),
		asm.Ja.Label("count"),
		asm.JNE.Imm(scratch, portEnd, "count").WithSymbol(name),
		asm.Ja.Label(elsewhere),
	)
}

// count books the packet under what R1 says its ports stand for.
func count(l layout, m fds) asm.Instructions {
	p := asm.Instructions{
		asm.JNE.Imm(scratch, portShared, "flow").WithSymbol("count"),
		asm.LoadMapValue(second, m.turn, 0),
		asm.LoadMem(scratch, second, 0, asm.Word),
		asm.StoreMem(asm.RFP, atKey+12, scratch, asm.Word).WithSymbol("flow"),
	}
	p = append(p, read(atField, 4, packet, l.end)...)
	p = append(p, asm.LoadMem(scratch, asm.RFP, atField, asm.Word), asm.Add.Reg(head, scratch)) // now skb_shared_info
	p = append(p, read(atField, 2, head, l.gsoSize)...)
	p = append(p, asm.LoadMem(cursor, asm.RFP, atField, asm.Half))
	p = append(p, read(atField, 2, head, l.gsoSegs)...)
	p = append(p,
		asm.Mov.Imm(proto, 1),
		asm.JEq.Imm(cursor, 0, "add"),
		asm.LoadMem(scratch, asm.RFP, atField, asm.Half),
		asm.JEq.Imm(scratch, 0, "add"),
		asm.Mov.Reg(proto, scratch),
		asm.Mov.Imm(scratch, 0).WithSymbol("add"),
	)
	p = append(p, lookup(m.counts, atKey)...)
	p = append(p,
		asm.JNE.Imm(asm.R0, 0, "known"),
		asm.StoreMem(asm.RFP, atValue, proto, asm.DWord),
		asm.LoadMapPtr(asm.R1, m.counts),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, atKey),
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, atValue),
		asm.Mov.Imm(asm.R4, noExist),
		asm.FnMapUpdateElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
	)
	p = append(p, lookup(m.counts, atKey)...) // another CPU was faster, or there is no room
	return append(p,
		asm.JNE.Imm(asm.R0, 0, "known"),
		asm.LoadMapValue(asm.R0, m.lost, 0),
		asm.StoreXAdd(asm.R0, proto, asm.DWord).WithSymbol("known"),
	)
}

// lookup leaves in R0 where a map has the value of a key on the stack, or 0.
func lookup(in int, key int16) asm.Instructions {
	return asm.Instructions{
		asm.LoadMapPtr(asm.R1, in), asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, int32(key)),
		asm.FnMapLookupElem.Call(),
	}
}

// portKey is a port of a protocol as the program looks it up.
func portKey(proto, port uint16) uint32 { return uint32(proto)<<16 | uint32(port) }

// flowValue is what stands for a flow.
func flowValue(n int) uint32 { return portFlow + uint32(n) } //nolint:gosec // at most maxFlows
