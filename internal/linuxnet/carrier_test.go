//go:build linux

package linuxnet

import "testing"

// TestCarrierChanges: the count of a device moves when the other end of its pair
// goes, and not otherwise.
func TestCarrierChanges(t *testing.T) {
	a, b := joined(t)
	read := func() uint64 {
		t.Helper()
		all, err := a.CarrierChanges()
		if err != nil {
			t.Fatal(err)
		}
		n, ok := all["x0"]
		if !ok {
			t.Fatalf("no count of x0 among %v", all)
		}
		return n
	}
	before := read()
	if again := read(); again != before {
		t.Errorf("from %d to %d while nothing happened", before, again)
	}
	peer, err := b.link("x0")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.handle.LinkSetDown(peer); err != nil {
		t.Fatal(err)
	}
	down := read()
	if err := b.Up("x0"); err != nil {
		t.Fatal(err)
	}
	if up := read(); down != before+1 || up != before+2 {
		t.Errorf("from %d to %d as the other end went down, and to %d as it came up", before, down, up)
	}
}
