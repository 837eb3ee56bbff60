package http2

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"tare/internal/testkit/must"
)

// end is an end of a connection that answers each request with the same, and keeps what it is told.
type end struct {
	conn    *Conn
	answer  *Message
	heads   int
	whole   []string
	lost    []string
	refuses bool
	parts   []string
	onPart  func(*Stream)
}

func (e *end) Begun(*Stream) { e.heads++ }
func (e *end) Message(s *Stream) {
	e.whole = append(e.whole, fmt.Sprintf("%d %s %d %v %v", s.Lane, s.Head.Method, s.Head.Status, s.Body, s.Start))
	switch {
	case e.refuses:
		e.conn.Refuse(s, "403", "no")
	case e.answer != nil:
		e.conn.Respond(s, e.answer)
	}
}
func (e *end) Part(s *Stream) {
	e.parts = append(e.parts, fmt.Sprintf("%d %d %v", s.Lane, s.Part, s.Start))
	if e.onPart != nil {
		e.onPart(s)
	}
}
func (e *end) Lost(_ *Stream, err error) { e.lost = append(e.lost, err.Error()) }

const most = 1 << 20

func newEnd(server bool, answer *Message) *end {
	e := &end{answer: answer}
	if server {
		e.conn = NewServer(Options{Streams: 10, MaxBody: most}, e)
	} else {
		e.conn = NewClient(Options{MaxBody: most}, e)
	}
	return e
}

// pump carries what both ends send, in pieces of at most that many bytes, until there is nothing left.
func pump(t testing.TB, a, b *end, piece int) {
	t.Helper()
	for moved := true; moved; {
		moved = false
		for _, x := range []struct{ from, to *end }{{a, b}, {b, a}} {
			if p := x.from.conn.Pending(); len(p) > 0 {
				p = p[:min(len(p), piece)]
				must.Do(t, x.to.conn.Read(p))
				x.from.conn.Wrote(len(p))
				moved = true
			}
		}
	}
}

func request(size int) *Message {
	return NewMessage([]Field{{":method", "POST"}, {":scheme", "http"}, {":path", "/"}, {"x-long", strings.Repeat("x", 200)}}, nil, []byte("abcde"), size, nil)
}

func response(size int) *Message {
	return NewMessage([]Field{{":status", "200"}, {"server", "x"}}, []Field{{"date", "today"}}, []byte("fghij"), size, []Field{{"grpc-status", "0"}})
}

// Messages of all sizes, several at once, arrive whole however they are cut, and both ends count the same bytes.
func TestExchanges(t *testing.T) {
	for _, sizes := range [][2]int{{0, 0}, {5, 1}, {1, 5}, {100_000, 1 << 20}, {1 << 20, 100_000}} {
		for _, piece := range []int{1 << 20, 1000, 1} {
			if piece == 1 && sizes[0]+sizes[1] > 1<<10 {
				continue
			}
			client, server := newEnd(false, nil), newEnd(true, response(sizes[1]))
			pump(t, client, server, piece)
			must.Equal(t, []any{true, true, 10}, []any{client.conn.Settled(), server.conn.Settled(), client.conn.MaxStreams()})
			ask := request(sizes[0])
			for range 5 {
				for lane := range 10 {
					client.conn.Request(ask, lane)
				}
				pump(t, client, server, piece)
			}
			if len(client.whole) != 50 || len(server.whole) != 50 || client.heads != 50 || len(client.lost)+len(server.lost) > 0 || client.conn.Open()+server.conn.Open() > 0 {
				t.Fatalf("%v: %d and %d messages, lost %v and %v", sizes, len(client.whole), len(server.whole), client.lost, server.lost)
			}
			slices.Sort(client.whole)
			start := [5]byte{}
			copy(start[:], "fghij"[:min(5, sizes[1])])
			must.Equal(t, fmt.Sprintf("9  200 %d %v", sizes[1], start), client.whole[49])
			must.Equal(t, client.conn.Bytes(), Bytes{server.conn.Bytes().Received, server.conn.Bytes().Sent})
			must.Equal(t, []int64{50, 50}, []int64{client.conn.Completed(), server.conn.Completed()})
		}
	}
}

// peer is the other side of a connection, which writes any frames.
type peer struct {
	bytes.Buffer
	*http2.Framer
	fields *hpack.Encoder
	block  bytes.Buffer
}

func newPeer(client bool) *peer {
	p := &peer{}
	p.Framer = http2.NewFramer(&p.Buffer, nil)
	p.AllowIllegalWrites = true
	p.fields = hpack.NewEncoder(&p.block)
	if client {
		p.WriteString(Preface)
	}
	_ = p.WriteSettings()
	return p
}

func (p *peer) encode(fields ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = p.fields.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return bytes.Clone(p.block.Bytes())
}

func (p *peer) get(id uint32, ends bool, more ...string) {
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndStream: ends, EndHeaders: true,
		BlockFragment: p.encode(append([]string{":method", "GET", ":scheme", "http", ":path", "/"}, more...)...)})
}

// What a client may not send ends its connection, with the code of RFC 9113 and one line, at once and byte by byte, and
// in little memory.
func TestMalformed(t *testing.T) {
	raw := func(kind http2.FrameType, flags http2.Flags, id uint32, payload string) func(*peer) {
		return func(p *peer) { _ = p.WriteRawFrame(kind, flags, id, []byte(payload)) }
	}
	for name, x := range map[string]struct {
		send func(*peer)
		code Code
		text string
	}{
		"frame that is too large":         {raw(http2.FrameData, 0, 1, strings.Repeat("x", MaxFrame+1)), FrameSizeError, "a frame of 16385 bytes is larger than 16384"},
		"unknown frame that is too large": {raw(99, 0, 1, strings.Repeat("x", MaxFrame+1)), FrameSizeError, "larger than"},
		"data on the connection":          {raw(http2.FrameData, 0, 0, "x"), ProtocolError, "on the connection"},
		"headers on the connection":       {raw(http2.FrameHeaders, 4, 0, "\x82"), ProtocolError, "on the connection"},
		"priority on the connection":      {raw(http2.FramePriority, 0, 0, "\x00\x00\x00\x00\x00"), ProtocolError, "on the connection"},
		"reset on the connection":         {raw(http2.FrameRSTStream, 0, 0, "\x00\x00\x00\x00"), ProtocolError, "not begun"},
		"settings on a stream":            {raw(http2.FrameSettings, 0, 1, ""), ProtocolError, "settings are on a stream"},
		"ping on a stream":                {raw(http2.FramePing, 0, 1, "01234567"), ProtocolError, "a ping is on a stream"},
		"goaway on a stream":              {raw(http2.FrameGoAway, 0, 1, "01234567"), ProtocolError, "on a stream"},
		"even stream":                     {func(p *peer) { p.get(2, true) }, ProtocolError, "an even number"},
		"data on an idle stream":          {raw(http2.FrameData, 0, 5, "x"), ProtocolError, "not begun"},
		"reset of an idle stream":         {raw(http2.FrameRSTStream, 0, 5, "\x00\x00\x00\x00"), ProtocolError, "not begun"},
		"window of an idle stream":        {raw(http2.FrameWindowUpdate, 0, 5, "\x00\x00\x00\x01"), ProtocolError, "not begun"},
		"headers on a closed stream":      {func(p *peer) { p.get(3, true); p.get(1, true) }, StreamClosed, "has ended"},
		"data on a closed stream":         {func(p *peer) { p.get(1, true); _ = p.WriteData(1, true, nil) }, StreamClosed, "has ended"},
		"push":                            {raw(http2.FramePushPromise, 4, 1, "\x00\x00\x00\x02\x82"), ProtocolError, "pushes"},
		"continuation of nothing":         {raw(http2.FrameContinuation, 4, 1, "\x82"), ProtocolError, "continues no header block"},
		"interrupted block": {func(p *peer) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			_ = p.WritePing(false, [8]byte{})
		}, ProtocolError, "interrupted"},
		"block continued on another stream": {func(p *peer) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			_ = p.WriteContinuation(3, true, []byte{0x82})
		}, ProtocolError, "interrupted"},
		"endless block": {func(p *peer) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			for range 100 {
				_ = p.WriteContinuation(1, false, []byte(strings.Repeat("x", 1000)))
			}
		}, EnhanceYourCalm, "a header block is longer"},
		"empty continuations": {func(p *peer) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			for range 100 {
				_ = p.WriteContinuation(1, false, nil)
			}
		}, EnhanceYourCalm, "more than 17 frames"},
		"bomb": {func(p *peer) {
			block := p.encode("x", strings.Repeat("y", 4000))
			block = append(block, bytes.Repeat([]byte{0x80 | 62}, 10_000)...) // the field that is kept, again and again
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: block})
		}, EnhanceYourCalm, "longer than 16 KiB"},
		"unknown index":                 {raw(http2.FrameHeaders, 5, 1, "\xff\x80\x01"), CompressionError, "cannot be decoded"},
		"table that is large":           {raw(http2.FrameHeaders, 5, 1, "\x3f\xe1\xff\x03"), CompressionError, "cannot be decoded"},
		"block that is cut":             {raw(http2.FrameHeaders, 5, 1, "\x00\x05ab"), CompressionError, "cannot be decoded"},
		"long padding":                  {raw(http2.FrameHeaders, 0x8|0x4, 1, "\x05\x82"), ProtocolError, "padding"},
		"no padding":                    {raw(http2.FrameHeaders, 0x8|0x4, 1, ""), FrameSizeError, "padding"},
		"short priority":                {raw(http2.FrameHeaders, 0x20|0x4, 1, "\x00\x00"), FrameSizeError, "priority"},
		"priority of itself":            {raw(http2.FrameHeaders, 0x20|0x4, 1, "\x00\x00\x00\x01\x00\x82"), ProtocolError, "depends on itself"},
		"priority of itself, alone":     {raw(http2.FramePriority, 0, 1, "\x00\x00\x00\x01\x00"), ProtocolError, "depends on itself"},
		"padding longer than data":      {func(p *peer) { p.get(1, false); raw(http2.FrameData, 0x8, 1, "\x05abcd")(p) }, ProtocolError, "padding"},
		"padding of no data":            {func(p *peer) { p.get(1, false); raw(http2.FrameData, 0x8, 1, "")(p) }, FrameSizeError, "padding"},
		"priority of 4 bytes":           {raw(http2.FramePriority, 0, 1, "\x00\x00\x00\x00"), FrameSizeError, "4 bytes"},
		"reset of 3 bytes":              {func(p *peer) { p.get(1, false); raw(http2.FrameRSTStream, 0, 1, "abc")(p) }, FrameSizeError, "3 bytes"},
		"settings of 5 bytes":           {raw(http2.FrameSettings, 0, 0, "abcde"), FrameSizeError, "5 bytes"},
		"acknowledged settings":         {raw(http2.FrameSettings, 1, 0, "\x00\x03\x00\x00\x00\x01"), FrameSizeError, "6 bytes"},
		"ping of 7 bytes":               {raw(http2.FramePing, 0, 0, "1234567"), FrameSizeError, "7 bytes"},
		"goaway of 7 bytes":             {raw(http2.FrameGoAway, 0, 0, "1234567"), FrameSizeError, "7 bytes"},
		"window of 3 bytes":             {raw(http2.FrameWindowUpdate, 0, 0, "123"), FrameSizeError, "3 bytes"},
		"window of 0":                   {raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"), ProtocolError, "is 0"},
		"window that overflows":         {raw(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff"), FlowControlError, "too large"},
		"stream whose window overflows": {func(p *peer) { p.get(1, false); raw(http2.FrameWindowUpdate, 0, 1, "\x7f\xff\xff\xff")(p) }, FlowControlError, "too large"},
		"initial window that overflows": {func(p *peer) {
			p.get(1, false)
			_ = p.WriteWindowUpdate(1, 1<<30)
			_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
		}, FlowControlError, "too large"},
		"initial window of 2^31": {func(p *peer) { _ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31}) }, FlowControlError, "2147483648"},
		"push that is 2":         {func(p *peer) { _ = p.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 2}) }, ProtocolError, "is 2"},
		"frames that are small":  {func(p *peer) { _ = p.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 100}) }, ProtocolError, "is 100"},
		"large body":             {func(p *peer) { p.get(1, false, "content-length", "1048577") }, EnhanceYourCalm, "larger than 1048576 bytes"},
		"large body without a length": {func(p *peer) {
			p.get(1, false)
			for range 100 {
				_ = p.WriteData(1, false, make([]byte, MaxFrame))
			}
		}, EnhanceYourCalm, "larger than 1048576 bytes"},
		"second headers": {func(p *peer) { p.get(1, false); p.get(1, false) }, ProtocolError, "does not end"},
		"pings": {func(p *peer) {
			for range 2000 {
				_ = p.WritePing(false, [8]byte{})
			}
		}, EnhanceYourCalm, "carry nothing"},
		"settings again and again": {func(p *peer) {
			for range 2000 {
				_ = p.WriteSettings()
			}
		}, EnhanceYourCalm, "carry nothing"},
		"empty data": {func(p *peer) {
			p.get(1, false)
			for range 2000 {
				_ = p.WriteData(1, false, nil)
			}
		}, EnhanceYourCalm, "carry nothing"},
		"too many streams": {func(p *peer) {
			for i := range uint32(2000) {
				p.get(2*i+1, false)
			}
		}, EnhanceYourCalm, "carry nothing"},
		"rapid reset": {func(p *peer) {
			for i := range uint32(2000) {
				p.get(2*i+1, false)
				_ = p.WriteRSTStream(2*i+1, http2.ErrCodeCancel)
			}
		}, EnhanceYourCalm, "reset more than 100 streams"},
	} {
		for _, piece := range []int{1 << 20, 1} {
			p := newPeer(true)
			x.send(p)
			e := newEnd(true, response(10))
			var err error
			before := allocated()
			for b := p.Bytes(); len(b) > 0 && err == nil; b = b[min(len(b), piece):] {
				err = e.conn.Read(b[:min(len(b), piece)])
				e.conn.Wrote(len(e.conn.Pending()))
			}
			used := allocated() - before
			must.True(t, used <= 4<<20, "%s takes %d bytes", name, used)
			of, ok := errors.AsType[*Error](err)
			must.True(t, ok && of.Code == x.code && strings.Contains(of.Text, x.text) && !strings.Contains(of.Text, "\n"),
				"%s, %d bytes at once: %v, %v; want %v with %q", name, piece, of, err, x.code, x.text)
			again := e.conn.Read([]byte("x"))
			must.True(t, errors.Is(again, err), "%s, later: %v", name, again)
		}
	}
}

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A malformed request is reset, and the connection goes on.
func TestMalformedRequests(t *testing.T) {
	whole := []string{":method", "GET", ":scheme", "http", ":path", "/"}
	with := func(more ...string) []string { return slices.Concat(whole, more) }
	for want, all := range map[string][][]string{
		"the request has no method, scheme or path":                      {{}, whole[:4], whole[2:], {":method", "GET", ":scheme", "http", ":path", ""}},
		"a pseudo-header field is unknown, repeated or behind others":    {with(":status", "200"), with(":path", "/"), with("a", "b", ":authority", "c"), with(":x", "y")},
		"the name of a header field has a character that is not allowed": {with("Upper", "x"), with("a b", "x"), with("a:b", "x")},
		"a header field has no name, or a control character":             {with("", "x"), with("x", "a\nb"), with("x", "a\x00")},
		"the header field connection is not one of HTTP/2":               {with("connection", "close")},
		"the header field transfer-encoding is not one of HTTP/2":        {with("transfer-encoding", "chunked")},
		"the header field te is not trailers":                            {with("te", "gzip")},
		"the length of the body is not one number":                       {with("content-length", ""), with("content-length", "-1"), with("content-length", "+1"), with("content-length", "1", "content-length", "2")},
		"the body is not as long as its content-length":                  {with("content-length", "1")},
	} {
		for _, fields := range all {
			p := newPeer(true)
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, EndHeaders: true, BlockFragment: p.encode(fields...)})
			p.get(3, true, "te", "trailers")
			e := newEnd(true, response(10))
			must.Do(t, e.conn.Read(p.Bytes()))
			must.EqualFor(t, fmt.Sprint(fields), []any{[]string{want}, 1}, []any{e.lost, len(e.whole)})
			must.True(t, bytes.Contains(e.conn.Pending(), appendReset(nil, 1, ProtocolError)), "%v: the stream was not reset", fields)
		}
	}
}

// What is no HTTP/2 is named, at either end.
func TestOtherProtocols(t *testing.T) {
	for start, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n": "it sent no preface but a request of another protocol",
		"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n":  "it sent no preface",
		"\x16\x03\x01\x02\x00":              "it sent a TLS record",
		"SSH-2.0-x\r\n":                     "it is an SSH server",
		"\x00\x00":                          `it starts with "\x00\x00"`,
	} {
		err := newEnd(true, nil).conn.Read([]byte(start))
		if must.FailLine(t, start, err, "it does not speak HTTP/2: "+want); !errors.Is(err, ErrNotHTTP2) {
			t.Errorf("%v", err)
		}
	}
	for start, want := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n":                 "it answers in HTTP/1",
		"\x15\x03\x01\x00\x02\x02\x46":                     "it sent a TLS record",
		"SSH-2.0-x\r\n":                                    "it is an SSH server",
		"220 mail ESMTP\r\n":                               `it starts with "220 mail`,
		"\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00": `it starts with "\x00\x00\b\a`,
	} {
		must.FailLine(t, start, newEnd(false, nil).conn.Read([]byte(start)), "it does not speak HTTP/2: "+want)
	}
	must.FailLine(t, "acknowledged first", newEnd(false, nil).conn.Read(appendFrameHeader(nil, 0, frameSettings, flagAck, 0)), "the first frame has no settings")
}

// A client learns of each way in which a response does not come.
func TestResponsesThatFail(t *testing.T) {
	for want, answer := range map[string]func(p *peer){
		"the peer reset the stream: REFUSED_STREAM":                            func(p *peer) { _ = p.WriteRSTStream(1, http2.ErrCodeRefusedStream) },
		"the peer reset the stream: error code 99":                             func(p *peer) { _ = p.WriteRSTStream(1, 99) },
		`the peer ended the connection: ENHANCE_YOUR_CALM ("too_many\npings")`: func(p *peer) { _ = p.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("too_many\npings")) },
		"the peer ended the connection: NO_ERROR":                              func(p *peer) { _ = p.WriteGoAway(0, 0, nil) },
		"the status is not a number of three digits":                           func(p *peer) { p.respond(":status", "20") },
		"the response has no status":                                           func(p *peer) { p.respond("a", "b") },
		"an interim response ends the stream":                                  func(p *peer) { p.respond(":status", "103") },
		"the body is not as long as its content-length":                        func(p *peer) { p.respond(":status", "200", "content-length", "7") },
	} {
		p, e := newPeer(false), newEnd(false, nil)
		must.Do(t, e.conn.Read(p.Bytes()))
		p.Reset()
		e.conn.Request(request(0), 7)
		answer(p)
		must.Do(t, e.conn.Read(p.Bytes()))
		must.EqualFor(t, want, []any{[]string{want}, 0, strings.Contains(want, "connection")}, []any{e.lost, len(e.whole), e.conn.Gone() != nil})
	}
}

func (p *peer) respond(fields ...string) {
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, EndHeaders: true, BlockFragment: p.encode(fields...)})
}

// The windows of the peer bound what is sent, on each stream and on the connection, and its settings apply to streams that are open.
func TestWindows(t *testing.T) {
	p, e := newPeer(false), newEnd(false, nil)
	must.Do(t, e.conn.Read(p.Bytes()))
	sent := func() (n int) {
		f := http2.NewFramer(nil, bytes.NewReader(bytes.TrimPrefix(bytes.Clone(e.conn.Pending()), []byte(Preface))))
		e.conn.Wrote(len(e.conn.Pending()))
		for {
			of, err := f.ReadFrame()
			if err != nil {
				return n
			}
			if d, ok := of.(*http2.DataFrame); ok {
				n += len(d.Data())
			}
		}
	}
	all := func() (n int) {
		for k := -1; k != 0; n += k {
			k = sent()
		}
		return n + 0
	}
	send := func(fn func()) {
		p.Reset()
		fn()
		must.Do(t, e.conn.Read(p.Bytes()))
	}
	e.conn.Request(request(100_000), 0)
	must.Equal(t, initialWindow, all())
	send(func() { _ = p.WriteWindowUpdate(1, 1000) })
	must.Equal(t, 0, all()) // that of the connection is full
	send(func() { _ = p.WriteWindowUpdate(0, 1<<20) })
	must.Equal(t, 1000, all())
	send(func() {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: initialWindow - 500})
	})
	send(func() { _ = p.WriteWindowUpdate(1, 600) })
	must.Equal(t, 100, all())
	send(func() { _ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}) })
	must.Equal(t, 100_000-initialWindow-1100, all())
	e.conn.Request(request(100_000), 1)
	must.Equal(t, 100_000, all())
}

// A peer that keeps no fields gets them in full, after it is told that none are kept.
func TestPeerWithoutTable(t *testing.T) {
	p, e := newPeer(true), newEnd(true, response(0))
	for id := uint32(1); id < 9; id += 2 {
		if id == 5 {
			_ = p.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
		}
		p.get(id, true)
	}
	must.Do(t, e.conn.Read(p.Bytes()))
	decode := hpack.NewDecoder(tableSize, nil)
	var blocks []string
	f := http2.NewFramer(nil, bytes.NewReader(e.conn.Pending()))
	for {
		of, err := f.ReadFrame()
		if err != nil {
			break
		}
		if h, ok := of.(*http2.HeadersFrame); ok && !h.StreamEnded() {
			if len(blocks) == 2 {
				decode.SetAllowedMaxDynamicTableSize(0)
			}
			fields := must.Get(decode.DecodeFull(h.HeaderBlockFragment()))(t)
			must.Equal(t, "[header field \":status\" = \"200\" header field \"server\" = \"x\" header field \"date\" = \"today\"]", fmt.Sprint(fields))
			blocks = append(blocks, string(h.HeaderBlockFragment()))
		}
	}
	must.True(t, len(blocks) == 4 && len(blocks[1]) < len(blocks[0]) && blocks[2][0] == 0x20 && blocks[2][1:] == blocks[3], "%q", blocks)
}

// A block means the same whether it is decoded or known, in any order of blocks that change the table and of others.
func TestKnownBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d, plain := newDecoder(), newDecoder()
	var b bytes.Buffer
	encode := hpack.NewEncoder(&b)
	known := 0
	for range 2000 {
		b.Reset()
		_ = encode.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		_ = encode.WriteField(hpack.HeaderField{Name: "a", Value: fmt.Sprint(rng.IntN(4)), Sensitive: rng.IntN(2) == 0})
		if rng.IntN(50) == 0 {
			_ = encode.WriteField(hpack.HeaderField{Name: "b", Value: fmt.Sprint(rng.IntN(1000))})
		}
		before := d.hpack
		got, _, err := d.decode(responseBlock, b.Bytes())
		plain.recent = [2]decoded{}
		want, _, err2 := plain.decode(responseBlock, b.Bytes())
		must.Require(t, err == nil && err2 == nil && before == d.hpack, "%v %v", err, err2)
		must.Equal(t, fmt.Sprint(want.fields), fmt.Sprint(got.fields))
		if slices.ContainsFunc(d.recent[:], func(r decoded) bool { return r.head == got }) {
			known++
		}
	}
	must.True(t, known >= 500, "%d blocks were known", known)
}
