package http2

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// FuzzRead checks that neither end fails but with an Error of one line, takes little memory, and reads the same however its input is cut.
func FuzzRead(f *testing.F) {
	for _, server := range []bool{true, false} {
		p := newPeer(server)
		p.get(1, false)
		_ = p.WriteData(1, true, []byte("abc"))
		p.get(3, true)
		_ = p.WritePing(false, [8]byte{})
		_ = p.WriteWindowUpdate(0, 5)
		_ = p.WriteGoAway(1, 0, []byte("x"))
		f.Add(p.Bytes(), server, false, uint16(3))
	}
	for _, text := range []string{"\x00\x00\x00\x00\x02ab\x00\x00\x00\x00\x00", "\x01\x00\x00\x00\x01x", "\x00\xff\xff\xff\xff", "\x00\x00"} {
		p := newPeer(true)
		p.get(1, false, "content-type", "application/grpc")
		_ = p.WriteData(1, false, []byte(text))
		_ = p.WriteData(1, true, nil)
		f.Add(p.Bytes(), true, true, uint16(2))
	}
	p := newPeer(false)
	p.respond(":status", "200")
	f.Add(p.Bytes(), false, false, uint16(1))
	f.Fuzz(func(t *testing.T, sent []byte, server, parted bool, piece uint16) {
		var seen [2]string
		for i, piece := range []int{len(sent) + 1, int(piece) + 1} {
			e := newEnd(server, response(1000))
			if parted {
				e = partEnd(server, 1000)
			}
			if !server {
				e.conn.Request(request(100), 1)
			}
			var err error
			for b := sent; len(b) > 0 && err == nil; b = b[min(len(b), piece):] {
				err = e.conn.Read(b[:min(len(b), piece)])
			}
			_, ok := errors.AsType[*Error](err)
			must.True(t, err == nil || ok && len(err.Error()) <= 200 && !strings.ContainsAny(err.Error(), "\n\r"), "%q: %v", sent, err)
			out := 0
			for n := -1; n != 0; out += n {
				n = len(e.conn.Pending())
				e.conn.Wrote(n)
			}
			most := 1<<20 + 300*len(sent)
			must.True(t, out <= most && e.conn.Open() <= 10, "%d bytes sent to %d, %d streams", out, len(sent), e.conn.Open())
			for _, text := range e.lost {
				must.True(t, !strings.ContainsAny(text, "\n\r") && len(text) <= 600, "%q", text)
			}
			seen[i] = fmt.Sprint(err, e.whole, e.parts, e.lost, e.heads, e.conn.Bytes())
		}
		must.True(t, seen[0] == seen[1] || strings.Contains(seen[0]+seen[1], "does not speak"), "in one piece: %s\nin several: %s", seen[0], seen[1])
	})
}
