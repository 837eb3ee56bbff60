package drops

import (
	"fmt"
	"math"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// layout is what the program must know of the running kernel: where fields are, in
// bytes, and which argument of the tracepoint is what.
type layout struct {
	skb, location, reason int // arguments, counted from 0

	head, end, network int // of struct sk_buff; network is the offset of the IP header from head
	gsoSize, gsoSegs   int // of struct skb_shared_info, which begins at head + end

	reasons map[uint32]string // names of enum skb_drop_reason, without prefix
}

// readLayout finds the layout in the kernel's own description of its types.
func readLayout(kernel *btf.Spec) (layout, error) {
	l := layout{}
	if err := l.arguments(kernel); err != nil {
		return l, err
	}
	var skb, shared *btf.Struct
	if err := kernel.TypeByName("sk_buff", &skb); err != nil {
		return l, err
	}
	if err := kernel.TypeByName("skb_shared_info", &shared); err != nil {
		return l, err
	}
	for _, f := range []struct {
		of   *btf.Struct
		name string
		size int
		to   *int
	}{
		{skb, "head", 8, &l.head}, {skb, "end", 4, &l.end}, {skb, "network_header", 2, &l.network},
		{shared, "gso_size", 2, &l.gsoSize}, {shared, "gso_segs", 2, &l.gsoSegs},
	} {
		at, size, ok := field(f.of.Members, f.name)
		if !ok {
			return l, fmt.Errorf("struct %s has no field %s", f.of.Name, f.name)
		}
		if size != f.size {
			return l, fmt.Errorf("%s.%s has %d bytes, not %d", f.of.Name, f.name, size, f.size)
		}
		*f.to = at
	}
	return l, nil
}

// arguments finds those of the tracepoint, and the names of the reasons in the type
// of one of them. The first argument of its type is the kernel's own and not passed.
func (l *layout) arguments(kernel *btf.Spec) error {
	var hook *btf.Typedef
	if err := kernel.TypeByName("btf_trace_"+tracepoint, &hook); err != nil {
		return err
	}
	pointer, ok := btf.UnderlyingType(hook).(*btf.Pointer)
	if !ok {
		return fmt.Errorf("%s is no pointer to a function", hook.Name)
	}
	proto, ok := pointer.Target.(*btf.FuncProto)
	if !ok || len(proto.Params) < 2 {
		return fmt.Errorf("%s is no function of a packet", hook.Name)
	}
	l.skb, l.location, l.reason = -1, -1, -1
	for i, p := range proto.Params[1:] {
		switch t := btf.UnderlyingType(p.Type).(type) {
		case *btf.Enum:
			if t.Name == "skb_drop_reason" {
				l.reason, l.reasons = i, names(t)
			}
		case *btf.Pointer:
			switch target := btf.UnderlyingType(t.Target).(type) {
			case *btf.Struct:
				if target.Name == "sk_buff" {
					l.skb = i
				}
			case *btf.Void:
				l.location = i
			}
		}
	}
	if l.skb < 0 || l.location < 0 {
		return fmt.Errorf("%s does not tell the packet and the function that drops it", hook.Name)
	}
	if l.reason < 0 {
		return fmt.Errorf("%s tells no reasons: Linux 5.17 and newer do", hook.Name)
	}
	return nil
}

// names of the reasons by number. Those of modules, which have a prefix of their own,
// are in none of the kernel's types.
func names(e *btf.Enum) map[uint32]string {
	out := make(map[uint32]string, len(e.Values))
	for _, v := range e.Values {
		if v.Value <= math.MaxUint32 {
			out[uint32(v.Value)] = strings.TrimPrefix(v.Name, "SKB_DROP_REASON_")
		}
	}
	return out
}

// field finds a field and its size, also inside structs and unions without a name.
func field(members []btf.Member, name string) (offset, size int, ok bool) {
	for _, m := range members {
		if m.Name == name {
			size, err := btf.Sizeof(m.Type)
			return int(m.Offset.Bytes()), size, err == nil
		}
		if m.Name != "" {
			continue
		}
		var inner []btf.Member
		switch t := btf.UnderlyingType(m.Type).(type) {
		case *btf.Struct:
			inner = t.Members
		case *btf.Union:
			inner = t.Members
		}
		if at, size, ok := field(inner, name); ok {
			return int(m.Offset.Bytes()) + at, size, true
		}
	}
	return 0, 0, false
}
