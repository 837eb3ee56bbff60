package drops

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"
)

// kernel makes the types of a kernel whose tracepoint has the given arguments beside
// the packet and the function.
func kernel(t *testing.T, more func(skb *btf.Struct) []btf.FuncParam, fields ...btf.Member) *btf.Spec {
	t.Helper()
	half := &btf.Int{Name: "short unsigned int", Size: 2}
	word := &btf.Int{Name: "unsigned int", Size: 4}
	skb := &btf.Struct{Name: "sk_buff", Size: 64, Members: slices.Concat(fields, []btf.Member{
		{Name: "head", Type: &btf.Pointer{Target: &btf.Void{}}, Offset: 64},
		{Name: "end", Type: &btf.Typedef{Name: "sk_buff_data_t", Type: word}, Offset: 128},
	})}
	shared := &btf.Struct{Name: "skb_shared_info", Size: 16, Members: []btf.Member{
		{Name: "gso_size", Type: half, Offset: 32}, {Name: "gso_segs", Type: half, Offset: 48},
	}}
	void := &btf.Pointer{Target: &btf.Void{}}
	hook := &btf.Typedef{Name: "btf_trace_kfree_skb", Type: &btf.Pointer{Target: &btf.FuncProto{
		Return: &btf.Void{}, Params: append([]btf.FuncParam{{Type: void}, {Type: &btf.Pointer{Target: skb}}, {Type: void}}, more(skb)...),
	}}}
	b, err := btf.NewBuilder([]btf.Type{skb, shared, hook}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, &btf.MarshalOptions{Order: binary.LittleEndian})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func reasons(*btf.Struct) []btf.FuncParam {
	return []btf.FuncParam{{Type: &btf.Enum{Name: "skb_drop_reason", Size: 4, Values: []btf.EnumValue{
		{Name: "SKB_NOT_DROPPED_YET"}, {Name: "SKB_DROP_REASON_NO_SOCKET", Value: 3}}}}}
}

// Offsets and arguments come from the kernel, wherever it has them: here the IP
// header's is in a struct in a union, as it is since Linux 5.18.
func TestLayout(t *testing.T) {
	inner := &btf.Struct{Size: 4, Members: []btf.Member{{Name: "network_header", Type: &btf.Int{Name: "u16", Size: 2}, Offset: 16}}}
	spec := kernel(t, reasons, btf.Member{Type: &btf.Union{Size: 4, Members: []btf.Member{{Type: inner}, {Name: "headers", Type: inner}}}, Offset: 160})
	got, err := readLayout(spec)
	if err != nil {
		t.Fatal(err)
	}
	want := layout{skb: 0, location: 1, reason: 2, head: 8, end: 16, network: 22, gsoSize: 4, gsoSegs: 6,
		reasons: map[uint32]string{0: "SKB_NOT_DROPPED_YET", 3: "NO_SOCKET"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(layout{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKernelsThatTellTooLittle(t *testing.T) {
	network := btf.Member{Name: "network_header", Type: &btf.Int{Name: "u16", Size: 2}}
	for name, c := range map[string]struct {
		spec *btf.Spec
		want string
	}{
		"Linux 5.15":   {kernel(t, func(*btf.Struct) []btf.FuncParam { return nil }, network), "tells no reasons: Linux 5.17 and newer do"},
		"no IP header": {kernel(t, reasons), "struct sk_buff has no field network_header"},
		"another size": {kernel(t, reasons, btf.Member{Name: "network_header", Type: &btf.Int{Name: "u32", Size: 4}}), "has 4 bytes, not 2"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readLayout(c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestTable(t *testing.T) {
	at := netip.MustParseAddrPort
	got, err := tableOf([]Flow{
		{Ends: []netip.AddrPort{at("198.18.0.2:5201"), at("0.0.0.0:40000")}}, {Ends: []netip.AddrPort{at("198.18.0.2:5201"), at("[2001:2::1]:4789"), at("198.18.0.3:40000")}},
		{Ends: []netip.AddrPort{at("198.18.0.2:5201")}, TCP: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	as16 := func(a string) [16]byte { return netip.MustParseAddr(a).As16() }
	want := table{
		ports: map[uint32]uint32{17<<16 | 5201: portEnd, 17<<16 | 40000: portFlow, 17<<16 | 4789: portEnd, 17<<16 | 8472: portTunnel, 6<<16 | 5201: portEnd},
		ends: map[end]uint32{
			{as16("198.18.0.2"), 17<<16 | 5201}: portShared, {as16("2001:2::1"), 17<<16 | 4789}: portFlow + 1,
			{as16("198.18.0.3"), 17<<16 | 40000}: portFlow + 1, {as16("198.18.0.2"), 6<<16 | 5201}: portFlow + 2,
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(table{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	many := make([]netip.AddrPort, maxPorts+1)
	for i := range many {
		many[i] = netip.AddrPortFrom(netip.Addr{}, uint16(10000+i))
	}
	if _, err := tableOf([]Flow{{Ends: many}}); err == nil {
		t.Error("more ports were taken than there is room for")
	}
}
