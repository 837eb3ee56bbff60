package drops

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"

	"tare/internal/testkit/must"
)

// kernel creates the types of a kernel whose tracepoint has the given arguments after the
// packet and the function.
func kernel(t *testing.T, more func(*btf.Struct) []btf.FuncParam, fields ...btf.Member) *btf.Spec {
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
	params := []btf.Type{&btf.Pointer{Target: skb}, &btf.Pointer{Target: &btf.Void{}}}
	for _, p := range more(skb) {
		params = append(params, p.Type)
	}
	return types(t, skb, shared, hook(params...))
}

// hook is the type of a tracepoint with some arguments.
func hook(arguments ...btf.Type) btf.Type {
	params := []btf.FuncParam{{Type: &btf.Pointer{Target: &btf.Void{}}}}
	for _, a := range arguments {
		params = append(params, btf.FuncParam{Type: a})
	}
	return &btf.Typedef{Name: "btf_trace_kfree_skb", Type: &btf.Pointer{Target: &btf.FuncProto{Return: &btf.Void{}, Params: params}}}
}

// types creates a kernel with some types.
func types(t *testing.T, all ...btf.Type) *btf.Spec {
	t.Helper()
	b := must.Get(btf.NewBuilder(all, nil))(t)
	raw := must.Get(b.Marshal(nil, &btf.MarshalOptions{Order: binary.LittleEndian}))(t)
	return must.Get(btf.LoadSpecFromReader(bytes.NewReader(raw)))(t)
}

func reasons(*btf.Struct) []btf.FuncParam {
	return []btf.FuncParam{{Type: &btf.Enum{Name: "skb_drop_reason", Size: 4, Values: []btf.EnumValue{
		{Name: "SKB_NOT_DROPPED_YET"}, {Name: "SKB_DROP_REASON_NO_SOCKET", Value: 3}}}}}
}

// relocated returns the program as loaded on a kernel: the offset and width of each field,
// in bytes. A field that the kernel lacks is "poison", which the kernel's verifier rejects.
func relocated(t *testing.T, kernel *btf.Spec) map[string]string {
	t.Helper()
	spec := must.Get(loadDrops())(t)
	var relocations []*btf.CORERelocation
	for _, in := range spec.Programs[dropsProgTareDrops].Instructions {
		if r := btf.CORERelocationMetadata(&in); r != nil {
			relocations = append(relocations, r)
		}
	}
	fixups := must.Get(btf.CORERelocate(relocations, []*btf.Spec{kernel}, binary.LittleEndian, func(btf.Type) (btf.TypeID, error) { return 0, nil }))(t)
	fields := map[string][]string{"sk_buff": {"head", "end", "network_header"}, "skb_shared_info": {"gso_size", "gso_segs"}}
	id := regexp.MustCompile(`^CORERelocation\((\w+), Struct:"(\w+)"\[0:(\d)\]`)
	out := map[string]string{}
	for i, r := range relocations {
		m := id.FindStringSubmatch(r.String())
		must.Require(t, m != nil, "%s is no field of a structure", r)
		n, err := strconv.Atoi(m[3])
		must.Require(t, err == nil && n < len(fields[m[2]]), "%s: %v", r, err)
		_, to, _ := strings.Cut(fixups[i].String(), "=")
		if _, target, ok := strings.Cut(to, "->"); ok {
			to = target
		}
		out[fields[m[2]][n]+" "+m[1]] = to
	}
	return out
}

// Fields and reasons are found wherever the kernel has them: here the IP header's offset is
// in a struct in a union, as since Linux 5.18.
func TestLayout(t *testing.T) {
	inner := &btf.Struct{Size: 4, Members: []btf.Member{{Name: "network_header", Type: &btf.Int{Name: "u16", Size: 2}, Offset: 16}}}
	spec := kernel(t, reasons, btf.Member{Type: &btf.Union{Size: 4, Members: []btf.Member{{Type: inner}, {Name: "headers", Type: inner}}}, Offset: 160})
	want := map[string]string{
		"head byte_off": "8", "head byte_sz": "8", "end byte_off": "16", "end byte_sz": "4", "network_header byte_off": "22", "network_header byte_sz": "2",
		"gso_size byte_off": "4", "gso_size byte_sz": "2", "gso_segs byte_off": "6", "gso_segs byte_sz": "2",
	}
	must.Equal(t, want, relocated(t, spec))
	got, err := reasonNames(spec)
	diff := cmp.Diff(map[uint32]string{0: "SKB_NOT_DROPPED_YET", 3: "NO_SOCKET"}, got)
	must.True(t, err == nil && diff == "", "%v, (-want +got):\n%s", err, diff)
}

// A field of another size is read in full, and a missing one is not read.
func TestOtherFields(t *testing.T) {
	wide := relocated(t, kernel(t, reasons, btf.Member{Name: "network_header", Type: &btf.Int{Name: "u32", Size: 4}}))
	must.Equal(t, "4", wide["network_header byte_sz"])
	for field, want := range map[string]string{"network_header byte_off": "poison", "network_header byte_sz": "poison", "head byte_off": "8"} {
		must.EqualFor(t, fmt.Sprintf("without an IP header %s", field), want, relocated(t, kernel(t, reasons))[field])
	}
}

func TestKernelsThatTellTooLittle(t *testing.T) {
	more := func(types ...btf.Type) func(*btf.Struct) (out []btf.FuncParam) {
		return func(*btf.Struct) (out []btf.FuncParam) {
			for _, t := range types {
				out = append(out, btf.FuncParam{Type: t})
			}
			return out
		}
	}
	reason, word := reasons(nil)[0].Type, &btf.Int{Name: "unsigned int", Size: 4}
	for name, c := range map[string]struct {
		spec *btf.Spec
		want string
	}{
		"Linux 5.15":     {kernel(t, more()), "does not report drop reasons; Linux 5.17 or newer is required"},
		"no reason":      {kernel(t, more(word)), "does not report drop reasons; Linux 5.17 or newer is required"},
		"another order":  {kernel(t, more(word, reason)), "does not report drop reasons; Linux 5.17 or newer is required"},
		"no tracepoint":  {types(t, word), "not found"},
		"no packet":      {types(t, hook(word, &btf.Pointer{Target: &btf.Void{}}, reason)), "does not report the packet"},
		"no function":    {types(t, hook(&btf.Pointer{Target: &btf.Struct{Name: "sk_buff"}}, word, reason)), "does not report the packet"},
		"no arguments":   {types(t, hook()), "does not report the packet"},
		"Linux 6.18":     {kernel(t, more(reason, &btf.Pointer{Target: &btf.Struct{Name: "sock"}})), ""},
		"no function at": {types(t, &btf.Typedef{Name: "btf_trace_kfree_skb", Type: word}), "is not a pointer to a function"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := reasonNames(c.spec)
			must.True(t, (c.want != "" || err == nil) && (c.want == "" || err != nil && strings.Contains(err.Error(), c.want)),
				"got %v, want %q", err, c.want)
		})
	}
}

// The maps of drops.bpf.c have enough space for what Go writes to them.
func TestRoom(t *testing.T) {
	spec := must.Get(loadDrops())(t)
	for name, want := range map[string]uint32{dropsMapTarePorts: maxPorts, dropsMapTareEnds: maxPorts, dropsMapTareCounts: 16 * maxFlows} {
		must.EqualFor(t, fmt.Sprintf("%s has room for", name), want, spec.Maps[name].MaxEntries)
	}
}

func TestTable(t *testing.T) {
	at := netip.MustParseAddrPort
	got := must.Get(tableOf([]Flow{
		{Ends: []netip.AddrPort{at("198.18.0.2:5201"), at("0.0.0.0:40000")}}, {Ends: []netip.AddrPort{at("198.18.0.2:5201"), at("[2001:2::1]:4789"), at("198.18.0.3:40000")}},
		{Ends: []netip.AddrPort{at("198.18.0.2:5201")}, TCP: true},
	}))(t)
	as16 := func(a string) [16]byte { return netip.MustParseAddr(a).As16() }
	want := table{
		ports: map[uint32]dropsOwner{17<<16 | 5201: dropsOwnerByEnd, 17<<16 | 40000: dropsOwnerFirstFlow, 17<<16 | 4789: dropsOwnerByEnd, 17<<16 | 8472: dropsOwnerTunnel, 6<<16 | 5201: dropsOwnerByEnd},
		ends: map[dropsEnd]dropsOwner{
			{Address: as16("198.18.0.2"), Port: 17<<16 | 5201}: dropsOwnerShared, {Address: as16("2001:2::1"), Port: 17<<16 | 4789}: dropsOwnerFirstFlow + 1,
			{Address: as16("198.18.0.3"), Port: 17<<16 | 40000}: dropsOwnerFirstFlow + 1, {Address: as16("198.18.0.2"), Port: 6<<16 | 5201}: dropsOwnerFirstFlow + 2,
		},
	}
	must.Equal(t, want, got, cmp.AllowUnexported(table{}))
	many := make([]netip.AddrPort, maxPorts+1)
	for i := range many {
		many[i] = netip.AddrPortFrom(netip.Addr{}, uint16(10000+i))
	}
	must.FailFor(t, "more ports were taken than there is room for", must.Err(tableOf([]Flow{{Ends: many}})))
}
