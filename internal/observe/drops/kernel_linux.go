package drops

import (
	"fmt"
	"math"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// reasonNames returns the names of enum skb_drop_reason, without prefix, from the kernel's
// BTF. It checks that the tracepoint has the arguments that drops.bpf.c reads: the packet,
// the function and the reason; newer kernels have further ones. The first argument of the
// BTF type is internal to the kernel and not passed.
func reasonNames(kernel *btf.Spec) (map[uint32]string, error) {
	var hook *btf.Typedef
	if err := kernel.TypeByName("btf_trace_"+tracepoint, &hook); err != nil {
		return nil, err
	}
	pointer, ok := btf.UnderlyingType(hook).(*btf.Pointer)
	if !ok {
		return nil, fmt.Errorf("%s is not a pointer to a function", hook.Name)
	}
	proto, ok := pointer.Target.(*btf.FuncProto)
	if !ok || len(proto.Params) < 3 || pointsTo(proto.Params[1].Type) != "struct sk_buff" || pointsTo(proto.Params[2].Type) != "void" {
		return nil, fmt.Errorf("%s does not report the packet and the function that drops it", hook.Name)
	}
	if len(proto.Params) > 3 {
		if e, ok := btf.UnderlyingType(proto.Params[3].Type).(*btf.Enum); ok && e.Name == "skb_drop_reason" {
			return enumNames(e), nil
		}
	}
	return nil, fmt.Errorf("%s does not report drop reasons; Linux 5.17 or newer is required", hook.Name)
}

// pointsTo returns the name of the type that a pointer points to.
func pointsTo(t btf.Type) string {
	p, ok := btf.UnderlyingType(t).(*btf.Pointer)
	if !ok {
		return ""
	}
	switch target := btf.UnderlyingType(p.Target).(type) {
	case *btf.Struct:
		return "struct " + target.Name
	case *btf.Void:
		return "void"
	}
	return ""
}

// enumNames returns the reasons by number. Reasons of modules have their own prefix and are not
// in the kernel's types.
func enumNames(e *btf.Enum) map[uint32]string {
	out := make(map[uint32]string, len(e.Values))
	for _, v := range e.Values {
		if v.Value <= math.MaxUint32 {
			out[uint32(v.Value)] = strings.TrimPrefix(v.Name, "SKB_DROP_REASON_")
		}
	}
	return out
}
