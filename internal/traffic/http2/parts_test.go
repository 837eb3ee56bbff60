package http2

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/net/http2"

	"tare/internal/testkit/must"
)

// part is a message of gRPC of that size.
func part(size int) []byte { return binary.BigEndian.AppendUint32([]byte{0}, uint32(size)) }

func streamed(head []Field, size int) *Message {
	return NewMessage(append(head, Field{"content-type", "application/grpc"}), nil, part(size), size+prefixSize, []Field{{"grpc-status", "0"}}).GoesOn()
}

// partEnd is an end of a connection whose bodies have parts; a server answers each with one of that size.
func partEnd(server bool, size int) *end {
	e := &end{}
	o := Options{Streams: 10, MaxBody: most, Parts: true}
	if !server {
		e.conn = NewClient(o, e)
		return e
	}
	answer := streamed([]Field{{":status", "200"}}, size)
	e.conn = NewServer(o, e)
	e.onPart = func(s *Stream) {
		if s.Lane == 0 {
			s.Lane = 1
			e.conn.Respond(s, answer)
			return
		}
		e.conn.Send(s, answer)
	}
	return e
}

// Messages go back and forth on streams that stay open, however they are cut, and both ends count the same.
func TestParts(t *testing.T) {
	for _, sizes := range [][2]int{{0, 0}, {1, 3}, {70_000, 20_000}, {1, 1 << 19}} {
		for _, piece := range []int{1 << 20, 1000, 1} {
			if piece == 1 && sizes[0]+sizes[1] > 1<<10 {
				continue
			}
			client, server := partEnd(false, 0), partEnd(true, sizes[1])
			pump(t, client, server, piece)
			ask := streamed([]Field{{":method", "POST"}, {":scheme", "http"}, {":path", "/"}}, sizes[0])
			for lane := range 3 {
				client.conn.Request(ask, lane)
			}
			left := 27
			client.onPart = func(s *Stream) {
				must.Equal(t, true, s.Sent())
				if left > 0 {
					left--
					client.conn.Send(s, ask)
				}
			}
			pump(t, client, server, piece)
			if len(client.parts) != 30 || len(server.parts) != 30 || client.heads != 30 || len(client.lost)+len(server.lost)+len(client.whole) > 0 || client.conn.Open() != 3 || server.conn.Open() != 3 {
				t.Fatalf("%v: %d and %d parts, lost %v and %v, %d streams", sizes, len(client.parts), len(server.parts), client.lost, server.lost, client.conn.Open())
			}
			must.Equal(t, fmt.Sprintf("2 %d %v", sizes[1], part(sizes[1])), client.parts[29])
			must.Equal(t, client.conn.Bytes(), Bytes{server.conn.Bytes().Received, server.conn.Bytes().Sent})
			must.Equal(t, []int64{30, 30}, []int64{client.conn.Completed(), server.conn.Completed()})
		}
	}
}

// A client may send several messages at once and then end: each is answered, and the trailer comes last. What is no whole message
// of gRPC ends its stream, and one that is too large the connection.
func TestPartsOfPeers(t *testing.T) {
	two := bytes.Join([][]byte{part(3), []byte("abc"), part(0)}, nil)
	for name, x := range map[string]struct {
		data  []byte
		ends  bool
		parts int
		lost  string // of the stream
		fails string // of the connection
	}{
		"two and the end":        {two, true, 2, "", ""},
		"two and a part of more": {append(bytes.Clone(two), 0, 0), false, 2, "", ""},
		"the end within one":     {append(bytes.Clone(two), 0, 0), true, 2, "the body ends within a message of the call", ""},
		"a compressed one":       {append(bytes.Clone(two), 1, 0, 0, 0, 1, 'x'), true, 2, "a message of the call is compressed, which was not agreed", ""},
		"a large one":            {append(bytes.Clone(two), 0, 0, 16, 0, 0), false, 2, "", "larger than 1048576 bytes"},
		"only the end":           {nil, true, 0, "", ""},
	} {
		for _, piece := range []int{1 << 20, 1} {
			p := newPeer(true)
			p.get(1, false, "content-type", "application/grpc")
			_ = p.WriteData(1, x.ends, x.data)
			e := partEnd(true, 5)
			var err error
			for b := p.Bytes(); len(b) > 0 && err == nil; b = b[min(piece, len(b)):] {
				if err = e.conn.Read(b[:min(piece, len(b))]); len(e.whole) > 0 && x.parts > 0 && e.conn.streams[1] != nil {
					e.conn.End(e.conn.streams[1])
				}
			}
			if x.fails != "" {
				must.FailFor(t, name, err, x.fails)
			} else {
				must.Do(must.Named(t, name), err)
			}
			must.EqualFor(t, name, []any{x.parts, x.lost}, []any{len(e.parts), fmt.Sprint(append(e.lost, "")[0])})
			var ends, answers int
			read := http2.NewFramer(nil, bytes.NewReader(bytes.Clone(e.conn.Pending())))
			for {
				f, err := read.ReadFrame()
				if err != nil {
					break
				}
				switch f := f.(type) {
				case *http2.DataFrame:
					answers++
					must.EqualFor(t, name, []any{prefixSize + 5, false}, []any{len(f.Data()), f.StreamEnded()})
				case *http2.HeadersFrame:
					if f.StreamEnded() {
						ends++
					}
				}
			}
			if x.lost == "" && x.fails == "" {
				must.EqualFor(t, name, []any{x.parts, x.ends && x.parts > 0}, []any{answers, ends == 1})
			}
		}
	}
}
