package drops

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

func TestSymbolise(t *testing.T) {
	const text = `ffffffff81000000 T _text
ffffffff81000100 t first
ffffffff81000180 D data_is_no_function
ffffffff81000200 T second
ffffffff81000200 T second_alias
ffffffffa0000000 t in_a_module	[nft]
`
	got := must.Get(symbolise(strings.NewReader(text), []uint64{0xffffffff810001ff, 0xffffffff81000200, 0xffffffff81000204, 0xffffffffa0000010, 0x10}))(t)
	want := map[uint64]string{
		0xffffffff810001ff: "first", 0xffffffff81000200: "first", 0xffffffff81000204: "second", 0xffffffffa0000010: "in_a_module",
	}
	must.Equal(t, want, got)
	hidden := "0000000000000000 T _text\n0000000000000000 t first\n"
	if got, err := symbolise(strings.NewReader(hidden), []uint64{0xffffffff810001ff}); err != nil || len(got) > 0 {
		t.Errorf("hidden addresses gave %v, %v", got, err)
	}
	for _, bad := range []string{"no symbol\n", "ffffffff81000000\n", "xyz T name\n"} {
		must.FailFor(t, fmt.Sprintf("%q was taken", bad), must.Err(symbolise(strings.NewReader(bad), []uint64{1})))
	}
}

func FuzzSymbolise(f *testing.F) {
	f.Add("ffffffff81000000 T _text\nffffffffa0000000 t in_a_module\t[nft]\n", uint64(0xffffffff81000010))
	f.Fuzz(func(t *testing.T, text string, address uint64) {
		names, err := symbolise(strings.NewReader(text), []uint64{address, address})
		must.True(t, err != nil || len(names) <= 1, "%d names of one address", len(names))
	})
}

func TestReasonName(t *testing.T) {
	names := map[uint32]string{3: "NO_SOCKET"}
	for reason, want := range map[uint32]string{3: "NO_SOCKET", 200: "REASON_200", 3<<16 | 5: "SUBSYSTEM_3_REASON_5"} {
		must.EqualFor(t, reason, want, reasonName(names, reason))
	}
}

// Every place to which drops are attributed exists.
func TestPlaces(t *testing.T) {
	known := map[string]bool{}
	for _, p := range result.LossPlaces() {
		known[p.ID] = true
	}
	for reason, place := range places() {
		must.True(t, known[place], "%s is at %q, which is no place", reason, place)
	}
	must.Equal(t, "", Place(result.DropReason{Reason: "NOT_SPECIFIED", Location: "anything"}))
}
