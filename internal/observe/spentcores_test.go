package observe

import (
	"math"
	"testing"
)

// The fullest CPU is the one with the least idle time over all windows together, and
// unknown where a CPU's idle time is.
func TestFullest(t *testing.T) {
	// CPU 0 has no idle time at all, CPU 1 what the machine has.
	var one, other Spent
	one.Add(at(t, 0, stat2(100, 100, 1000, 100, 7)), at(t, 500, stat2(125, 125, 1050, 100, 7)))
	if share, known := one.Fullest(); !known || share != 1 {
		t.Errorf("a full CPU: %g, %t", share, known)
	}
	idle := func(ticks0, ticks1 string) string {
		return "cpu  9 0 0 9 0 0 0 0 0 0\ncpu0 9 0 0 " + ticks0 + " 0 0 0 0 0 0\ncpu1 9 0 0 " + ticks1 + " 0 0 0 0 0 0\nintr 1\n"
	}
	other.Add(at(t, 0, idle("100", "100")), at(t, 1000, idle("150", "190")))
	if share, known := other.Fullest(); !known || math.Abs(share-0.5) > 1e-9 {
		t.Errorf("a half full CPU: %g, %t", share, known)
	}
	both := one.Plus(other)
	if share, known := both.Fullest(); !known || math.Abs(share-(1-0.5/1.5)) > 1e-9 {
		t.Errorf("both together: %g, %t", share, known)
	}
	other.Add(at(t, 1000, idle("150", "190")), at(t, 2000, idle("140", "290")))
	for what, s := range map[string]Spent{"none": {}, "backwards": other, "with an unknown one": one.Plus(other)} {
		if share, known := s.Fullest(); known {
			t.Errorf("%s: %g is known", what, share)
		}
	}
	var lost Spent
	lost.Add(nil, nil)
	if _, known := lost.Fullest(); known {
		t.Error("not read, and known")
	}
}
