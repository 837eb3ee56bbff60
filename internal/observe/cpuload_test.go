package observe

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"tare/internal/testkit/must"
)

func load(ticks ...uint32) (b []byte) {
	for _, n := range ticks {
		b = binary.NativeEndian.AppendUint32(b, n)
	}
	return b
}

func TestProcessorLoad(t *testing.T) {
	s := must.Get(parseProcessorLoad(load(10, 20, 300, 1, 11, 21, math.MaxUint32, 2)))(t)
	// User, system, idle and nice, in the kernel's order.
	want := map[int]uint64{colUser: 21, colSystem: 41, colIdle: 300 + math.MaxUint32, colNice: 3}
	for column, n := range want {
		must.EqualFor(t, fmt.Sprintf("column %d", column), n, s.total.ticks[column])
	}
	must.True(t, len(s.cpus) == 2 && s.cpus[1].id == 1 && s.cpus[1].ticks[colNice] == 2 && s.total.known == colIRQ, "%+v", s)
	for name, b := range map[string][]byte{"nothing": nil, "cut": load(1, 2, 3, 4)[:15], "half a CPU": load(1, 2, 3, 4, 5), "no time": load(0, 0, 0, 0)} {
		must.FailFor(t, name, must.Err(parseProcessorLoad(b)))
	}
}
