package runner

import "testing"

func TestNeighboursShort(t *testing.T) {
	for _, c := range []struct {
		text         string
		modes, pairs int
		needed       int
		short        bool
	}{
		{"1024\n", 1, 200, 800, false},
		{"1024\n", 2, 200, 1600, true},
		{"1024\n", 2, 128, 1024, false},
		{"8192\n", 2, 200, 1600, false},
		{"", 2, 200, 1600, false},
		{"unlimited\n", 2, 200, 1600, false},
	} {
		if needed, _, short := neighboursShort([]byte(c.text), c.modes, c.pairs); needed != c.needed || short != c.short {
			t.Errorf("%q, %d modes of %d pairs: %d needed, short %t", c.text, c.modes, c.pairs, needed, short)
		}
	}
}
