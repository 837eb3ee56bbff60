package relay

import "testing"

// record is a record of n bytes.
func record(kind byte, version uint16, n int) []byte {
	return append([]byte{kind, byte(version >> 8), byte(version), byte(n >> 8), byte(n)}, make([]byte, n)...)
}

func TestScan(t *testing.T) {
	data := record(typeData, version12, 100+sealOverhead)
	for name, tt := range map[string]struct {
		at                         phase
		bytes                      []byte
		records, content, unsealed uint64
	}{
		"a handshake":              {handshaking, append(record(typeHandshake, version10, 200), record(typeChange, version12, 1)...), 0, 0, 0},
		"its encrypted part":       {handshaking, data, 0, 0, 0},
		"two records":              {forwarding, append(data[:len(data):len(data)], data...), 2, 200, 0},
		"an empty record":          {forwarding, record(typeData, version12, sealOverhead), 1, 0, 0},
		"a close_notify":           {closing, record(typeData, version12, 2+sealOverhead), 0, 0, 0},
		"in the clear at the end":  {closing, []byte("GET / HTTP/1.1"), 0, 0, 14},
		"in the clear":             {forwarding, []byte("GET / HTTP/1.1"), 0, 0, 14},
		"in the clear, then TLS":   {forwarding, append([]byte("GET /"), data...), 0, 0, 5 + uint64(len(data))},
		"TLS, then in the clear":   {forwarding, append(data[:len(data):len(data)], "GET / HTTP/1.1"...), 1, 100, 14},
		"a handshake in the clear": {forwarding, record(typeHandshake, version12, 10), 0, 0, 15},
		"too short to be sealed":   {forwarding, record(typeData, version12, sealOverhead-1), 0, 0, recordHeader + sealOverhead - 1},
		"too long":                 {forwarding, record(typeData, version12, maxRecord+maxExpansion+1), 0, 0, recordHeader + maxRecord + maxExpansion + 1},
	} {
		for _, step := range []int{1, 3, 1 << 20} {
			var s recordScanner
			var c recordCounts
			for b := tt.bytes; len(b) > 0; b = b[min(step, len(b)):] {
				s.scan(b[:min(step, len(b))], tt.at, &c)
			}
			if c.records.Load() != tt.records || c.content.Load() != tt.content || c.unsealed.Load() != tt.unsealed {
				t.Errorf("%s by %d: %d records with %d bytes, %d outside", name, step, c.records.Load(), c.content.Load(), c.unsealed.Load())
			}
		}
	}
}

// FuzzScan checks that any bytes are counted alike however they are cut, and that no byte in the
// clear is lost.
func FuzzScan(f *testing.F) {
	f.Add(append(record(typeData, version12, 40), "GET"...), 3)
	f.Add([]byte("plain text"), 1)
	f.Add(record(typeHandshake, version10, 7), 2)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		cut = min(max(cut, 1), max(len(b), 1))
		var whole, parts recordCounts
		var s recordScanner
		s.scan(b, forwarding, &whole)
		s = recordScanner{}
		for rest := b; len(rest) > 0; rest = rest[min(cut, len(rest)):] {
			s.scan(rest[:min(cut, len(rest))], forwarding, &parts)
		}
		if whole.records.Load() != parts.records.Load() || whole.content.Load() != parts.content.Load() || whole.unsealed.Load() != parts.unsealed.Load() {
			t.Errorf("%q counts otherwise by %d", b, cut)
		}
		if n := whole.unsealed.Load(); n > uint64(len(b)) || len(b) >= recordHeader && b[0] != typeData && n != uint64(len(b)) {
			t.Errorf("%q: %d bytes outside of records", b, n)
		}
	})
}
