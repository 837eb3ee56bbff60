package stacks

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/observe"
	"tare/internal/testkit/must"
)

// recordOf returns a record as the kernel writes it.
func recordOf(kind uint32, words ...uint64) []byte {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, 0)
	b = binary.NativeEndian.AppendUint16(b, uint16(8+8*len(words)))
	for _, w := range words {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

// of returns the word with a process and a thread id.
func of(pid uint32) uint64 {
	return binary.NativeEndian.Uint64(binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, pid), pid))
}

const (
	kern  = ^uint64(0x80) + 1
	user  = ^uint64(0x200) + 1
	guest = ^uint64(0x800) + 1
)

func TestTally(t *testing.T) {
	k, u := uint64(0xffffffff81000101), uint64(0x401000)
	both := recordOf(recordSample, of(7), 6, kern, k, k+0x1000, user, u, u+1)
	tl := tally{counts: map[string]int{}}
	tl.add(append(append(append([]byte{}, both...), recordOf(recordLost, 0, 5)...), both...))
	tl.add(recordOf(recordLostSamples, 2))
	tl.add(recordOf(recordSample, of(0), 2, kern, k))           // a number of addresses that is too high, by 0
	tl.add(recordOf(recordSample, of(9), 4, guest, 1, user, u)) // frames of a guest are omitted
	tl.add(recordOf(recordSample, of(8), 99, kern))             // broken
	tl.add(recordOf(3, 1, 2, 3))                                // an unrequested kind
	must.True(t, tl.lost == 8 && tl.broken == nil, "lost %d, %v; want 8", tl.lost, tl.broken)
	syms := &symbols{addresses: []uint64{k - 1, k + 0x800}, names: []string{"tcp_sendmsg", "do_syscall_64"}}
	got := tl.sampled(names{
		kernel: syms, programs: map[int]observe.Program{7: {Name: "tare", Relation: observe.Agent}},
		function: func(pid int) func(uint64) string {
			if pid != 7 {
				return nil
			}
			return func(a uint64) string { return map[uint64]string{u: "write"}[a] }
		},
	})
	want := map[string]int{
		"generator (tare);write;write;do_syscall_64_[k];tcp_sendmsg_[k]": 2, // what returns to u+1 was called in what holds u
		"idle (swapper);tcp_sendmsg_[k]":                                 1,
		"other (gone);[gone]":                                            1,
	}
	must.EqualFor(t, "busy", []any{"", 4, 8}, []any{cmp.Diff(want, got.Stacks), got.Busy, got.Lost})
	tl.add([]byte{1, 2, 3})
	must.FailFor(t, "half a header was read", tl.broken)
}

func FuzzEachRecord(f *testing.F) {
	f.Add(recordOf(recordSample, of(7), 3, kern, 1, 2))
	f.Add(recordOf(recordLost, 0, 5))
	f.Add([]byte{9, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		tl := tally{counts: map[string]int{}}
		tl.add(b)
		for key := range tl.counts {
			must.Equal(t, key, sampleOf(key).key())
		}
	})
}
