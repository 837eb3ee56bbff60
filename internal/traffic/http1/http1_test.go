package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

const maxBody = 1 << 20

func reader(response bool) *Reader {
	if response {
		return NewResponseReader(maxBody)
	}
	return NewRequestReader(maxBody)
}

// message is what a reader made of a message.
type message struct {
	Head   string // method and target, or the status
	Body   int64
	Keeps  bool
	Status int  // of the error
	Other  bool // another protocol
	Cut    bool
}

// read reads the messages in pieces of the sizes of cuts, and then the end of the connection.
func read(r *Reader, text []byte, cuts ...int) (all []message) {
	add := func() {
		h := r.Head()
		m := message{Head: string(h.Method) + " " + string(h.Target), Body: r.Body(), Keeps: h.KeepAlive}
		if r.response {
			m.Head = http.StatusText(h.Status)
		}
		all = append(all, m)
	}
	for len(text) > 0 {
		piece := text
		if len(cuts) > 0 {
			piece, cuts = text[:min(max(cuts[0], 1), len(text))], cuts[1:]
		}
		text = text[len(piece):]
		for len(piece) > 0 {
			n, done, err := r.Read(piece)
			piece = piece[n:]
			var e *Error
			if errors.As(err, &e) {
				return append(all, message{Status: e.Status, Other: e.Other})
			}
			if done {
				add()
			}
		}
	}
	switch done, err := r.Close(); {
	case done:
		add()
	case err != nil:
		all = append(all, message{Cut: true})
	}
	return all
}

// bytewise are cuts after each byte.
func bytewise(text string) []int {
	all := make([]int, len(text))
	for i := range all {
		all[i] = 1
	}
	return all
}

const (
	get  = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	ok   = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
	long = MaxHead
)

// What is refused, with the status that a server answers with; 0 for what is cut off.
func TestMalformedRequests(t *testing.T) {
	post := func(fields, body string) string { return "POST / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n" + body }
	for what, x := range map[string]struct {
		text   string
		status int
	}{
		"bare LF":                         {"GET / HTTP/1.1\nHost: a\n\n", 400},
		"bare LF in the fields":           {"GET / HTTP/1.1\r\nHost: a\n\r\n", 400},
		"bare CR":                         {"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400},
		"NUL":                             {"GET / HTTP/1.1\r\nHost: a\x00\r\n\r\n", 400},
		"folded field":                    {"GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n", 400},
		"folded first field":              {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
		"space before the colon":          {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
		"field without a name":            {"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400},
		"field without a colon":           {"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400},
		"no host":                         {"GET / HTTP/1.1\r\n\r\n", 400},
		"two hosts":                       {"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 400},
		"two empty lines first":           {"\r\n\r\n" + get, 400},
		"half an empty line first":        {"\rX" + get, 400},
		"two spaces":                      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"space at the end":                {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400},
		"HTTP/0.9":                        {"GET /\r\n", 0},
		"no version":                      {"GET /\r\nHost: a\r\n\r\n", 400},
		"HTTP/2":                          {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
		"HTTP/3":                          {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505},
		"HTTP/11":                         {"GET / HTTP/11\r\nHost: a\r\n\r\n", 400},
		"method that is no token":         {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"control character in the target": {"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"length and chunks":               {post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
		"chunks and length":               {post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n"), 400},
		"two lengths":                     {post("Content-Length: 3\r\nContent-Length: 4\r\n", "abc"), 400},
		"the same length twice":           {post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), 400},
		"list of lengths":                 {post("Content-Length: 3, 3\r\n", "abc"), 400},
		"negative length":                 {post("Content-Length: -3\r\n", "abc"), 400},
		"signed length":                   {post("Content-Length: +3\r\n", "abc"), 400},
		"hexadecimal length":              {post("Content-Length: 0x3\r\n", "abc"), 400},
		"empty length":                    {post("Content-Length: \r\n", "abc"), 400},
		"endless length":                  {post("Content-Length: "+strings.Repeat("9", 30)+"\r\n", ""), 400},
		"large length":                    {post("Content-Length: 1048577\r\n", ""), 413},
		"two codings":                     {post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
		"empty coding":                    {post("Transfer-Encoding: \r\n", "abc"), 501},
		"unknown coding":                  {post("Transfer-Encoding: gzip, chunked\r\n", "abc"), 501},
		"chunked twice":                   {post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), 501},
		"hidden coding":                   {post("Transfer-Encoding: \x0bchunked\r\n", "abc"), 400},
		"chunks in HTTP/1.0":              {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		"chunk without a size":            {post("Transfer-Encoding: chunked\r\n", "\r\n"), 400},
		"size of a chunk with 0x":         {post("Transfer-Encoding: chunked\r\n", "0x3\r\nabc\r\n0\r\n\r\n"), 400},
		"negative size of a chunk":        {post("Transfer-Encoding: chunked\r\n", "-3\r\nabc\r\n0\r\n\r\n"), 400},
		"endless size of a chunk":         {post("Transfer-Encoding: chunked\r\n", strings.Repeat("0", 16)+"\r\n\r\n"), 400},
		"large chunk":                     {post("Transfer-Encoding: chunked\r\n", "100001\r\n"), 413},
		"large second chunk":              {post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\nffffe\r\n"), 413},
		"chunk that is longer":            {post("Transfer-Encoding: chunked\r\n", "3\r\nabcd\r\n0\r\n\r\n"), 400},
		"chunk that ends with LF":         {post("Transfer-Encoding: chunked\r\n", "3\r\nabc\n0\r\n\r\n"), 400},
		"size that ends with LF":          {post("Transfer-Encoding: chunked\r\n", "3\nabc\r\n0\r\n\r\n"), 400},
		"long extension":                  {post("Transfer-Encoding: chunked\r\n", "3;"+strings.Repeat("x", 300)+"\r\nabc\r\n0\r\n\r\n"), 400},
		"LF in an extension":              {post("Transfer-Encoding: chunked\r\n", "3;x\nabc\r\n0\r\n\r\n"), 400},
		"malformed trailer":               {post("Transfer-Encoding: chunked\r\n", "0\r\nX\r\n\r\n"), 400},
		"trailer with LF":                 {post("Transfer-Encoding: chunked\r\n", "0\r\nX: 1\n\r\n"), 400},
		"long trailer":                    {post("Transfer-Encoding: chunked\r\n", "0\r\nX: "+strings.Repeat("x", long)+"\r\n\r\n"), 431},
		"long target":                     {"GET /" + strings.Repeat("x", long) + " HTTP/1.1\r\nHost: a\r\n\r\n", 431},
		"long field":                      {"GET / HTTP/1.1\r\nHost: " + strings.Repeat("x", long) + "\r\n\r\n", 431},
		"many fields":                     {"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: y\r\n", long/6) + "\r\n", 431},
		"cut in the head":                 {get[:20], 0},
		"cut in the body":                 {post("Content-Length: 3\r\n", "ab"), 0},
		"cut in a chunk":                  {post("Transfer-Encoding: chunked\r\n", "3\r\nab"), 0},
		"cut before the last chunk":       {post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n"), 0},
	} {
		want := []message{{Status: x.status, Cut: x.status == 0}}
		must.EqualFor(t, what, want, read(reader(false), []byte(x.text)))
		must.EqualFor(t, what+", byte by byte", want, read(reader(false), []byte(x.text), bytewise(x.text)...))
		// After a good one, whose head the reader has kept.
		must.EqualFor(t, what+", second", want, read(reader(false), []byte(get+x.text))[1:])
	}
}

// What is another protocol is named as such, whoever receives it.
func TestOtherProtocols(t *testing.T) {
	for what, x := range map[string]struct{ text, names string }{
		"TLS":    {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "it sent a TLS record"},
		"alert":  {"\x15\x03\x01\x00\x02\x02\x46", "it sent a TLS record"},
		"binary": {"\x00\x01\n", `it starts with "\x00\x01\n"`},
	} {
		for _, response := range []bool{false, true} {
			_, _, err := reader(response).Read([]byte(x.text))
			must.True(t, errors.Is(err, ErrNotHTTP), "%s: %v", what, err)
			must.Contain(t, err.Error(), "it does not speak HTTP/1: "+x.names)
		}
	}
	for what, x := range map[string]struct{ text, names string }{
		"SSH":   {"SSH-2.0-OpenSSH_9.2p1\r\n", "it is an SSH server"},
		"SMTP":  {"220 mail ESMTP\r\n", `it starts with "220 mail ESMTP\r\n"`},
		"Redis": {"-ERR unknown command\r\n", `it starts with "-ERR`},
		"long":  {strings.Repeat("x", 2*long), `it starts with "xxx`},
	} {
		_, _, err := NewResponseReader(maxBody).Read([]byte(x.text))
		must.True(t, errors.Is(err, ErrNotHTTP), "%s: %v", what, err)
		must.Contain(t, err.Error(), x.names)
	}
	_, _, err := NewRequestReader(maxBody).Read([]byte("EHLO me\n"))
	must.True(t, errors.Is(err, ErrNotHTTP), "%v", err)
}

// Responses that a client refuses.
func TestMalformedResponses(t *testing.T) {
	for what, text := range map[string]string{
		"no status":         "HTTP/1.1 \r\n\r\n",
		"short status":      "HTTP/1.1 20 OK\r\n\r\n",
		"long status":       "HTTP/1.1 2000 OK\r\n\r\n",
		"status of letters": "HTTP/1.1 abc OK\r\n\r\n",
		"status 099":        "HTTP/1.1 099 OK\r\n\r\n",
		"bell":              "HTTP/1.1 200 \a\r\n\r\n",
		"bare LF":           "HTTP/1.1 200 OK\n\n",
		"empty line":        "\r\n" + ok,
		"switched":          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
		"interim for ever":  strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", maxInterim+1) + ok,
		"two lengths":       "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
		"both":              "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
	} {
		want := []message{{Status: 400}}
		must.EqualFor(t, what, want, read(reader(true), []byte(text)))
		must.EqualFor(t, what+", byte by byte", want, read(reader(true), []byte(text), bytewise(text)...))
	}
	must.Equal(t, []message{{Status: 413}}, read(reader(true), []byte("HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("x", maxBody+1))))
}

// All forms of a message, one after the other on a connection.
func TestMessages(t *testing.T) {
	requests := get + get +
		"\r\nPOST /a?b HTTP/1.1\r\nhost:a\r\nCONTENT-LENGTH:  3\t\r\nX: \x80\r\n\r\nabc" +
		"PUT * HTTP/1.1\r\nHost: \r\nTransfer-Encoding: Chunked\r\nExpect: 100-continue\r\n\r\n3;a=b\r\nabc\r\n0A\r\n0123456789\r\n00\r\nX: y\r\n\r\n" +
		"GET / HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\n" +
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, close\r\nContent-Length: 0\r\n\r\n" +
		"GET / HTTP/1.0\r\n\r\n"
	want := []message{
		{Head: "GET /", Keeps: true}, {Head: "GET /", Keeps: true}, {Head: "POST /a?b", Body: 3, Keeps: true},
		{Head: "PUT *", Body: 13, Keeps: true}, {Head: "GET /", Keeps: true}, {Head: "GET /"}, {Head: "GET /"},
	}
	must.Equal(t, want, read(reader(false), []byte(requests)))
	must.Equal(t, want, read(reader(false), []byte(requests), bytewise(requests)...))

	responses := ok + ok + "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok +
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n" + "HTTP/1.1 204 \r\n\r\n" +
		"HTTP/1.1 503\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" +
		"HTTP/1.0 200 OK\r\n\r\nabc"
	want = []message{
		{Head: "OK", Body: 3, Keeps: true}, {Head: "OK", Body: 3, Keeps: true}, {Head: "OK", Body: 3, Keeps: true},
		{Head: "Not Modified", Keeps: true}, {Head: "No Content", Keeps: true}, {Head: "Service Unavailable", Keeps: true}, {Head: "OK", Body: 3},
	}
	must.Equal(t, want, read(reader(true), []byte(responses)))
	must.Equal(t, want, read(reader(true), []byte(responses), bytewise(responses)...))
}

// What a reader says of a message while it arrives.
func TestProgress(t *testing.T) {
	r := NewRequestReader(maxBody)
	text := []byte("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\nab")
	steps := func(from, to int, begun, expects, complete bool) {
		t.Helper()
		must.Get2(r.Read(text[from:to]))(t)
		must.Equal(t, []bool{begun, expects, complete}, []bool{r.Begun(), r.TakeExpects(), r.Complete()})
	}
	for range 2 {
		must.Equal(t, false, r.Begun())
		steps(0, 10, true, false, false)
		steps(10, len(text)-2, true, true, false)
		steps(len(text)-2, len(text)-1, true, false, false)
		steps(len(text)-1, len(text), false, false, true)
	}
	v, found := r.Head().Field("EXPECT")
	must.True(t, found && string(v) == "100-Continue" && r.Head().Is("host", "A") && !r.Head().Is("x", ""), "field %q, %t", v, found)
	must.Get2(r.Read(text[:10]))(t)
	r.Reset()
	got := read(r, []byte(get))
	must.True(t, len(got) == 1 && got[0].Head == "GET /", "after a reset: %+v", got)
}

// What is written is read as it was meant, by this package and by net/http.
func TestWritten(t *testing.T) {
	q := Request{Method: "POST", Target: "/", Host: "[::1]:80", Fields: []Field{{"X", "y"}}, Body: 5}.Append(nil)
	q = append(q, "hello"...)
	must.Equal(t, []message{{Head: "POST /", Body: 5, Keeps: true}}, read(reader(false), q))
	theirs := must.Get(http.ReadRequest(bufio.NewReader(bytes.NewReader(q))))(t)
	must.True(t, theirs.Host == "[::1]:80" && theirs.Header.Get("X") == "y" && theirs.ContentLength == 5, "%+v", theirs)
	s := Response{Status: 403, Fields: []Field{{"X", "y"}}, Body: 2, Close: true}.Append(nil)
	s = append(s, "no"...)
	must.Equal(t, []message{{Head: "Forbidden", Body: 2}}, read(reader(true), s))
	answer := must.Get(http.ReadResponse(bufio.NewReader(bytes.NewReader(s)), nil))(t)
	must.True(t, answer.Status == "403 Forbidden" && answer.Close && answer.ContentLength == 2, "%+v", answer)
	must.Equal(t, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", string(Request{Method: "GET", Target: "/", Host: "a"}.Append(nil)))
}

// The reasons of statuses are those of net/http.
func TestStatus(t *testing.T) {
	for code := range reasons {
		must.Equal(t, strconv.Itoa(code)+" "+http.StatusText(code), Status(code))
	}
	must.Equal(t, "599", Status(599))
	must.Equal(t, http.TimeFormat, TimeFormat)
}

// Reading allocates nothing, whether the heads are the same or differ.
func TestNoAllocations(t *testing.T) {
	for _, response := range []bool{false, true} {
		texts := [][]byte{[]byte(get), []byte("GET /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")}
		if response {
			texts = [][]byte{[]byte(ok), []byte("HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")}
		}
		r, i := reader(response), 0
		if n := testing.AllocsPerRun(100, func() {
			i++
			for _, text := range [][]byte{texts[0], texts[0], texts[i%2]} {
				if _, done, err := r.Read(text); !done || err != nil {
					t.Errorf("%t, %v", done, err)
				}
			}
		}); n > 0 {
			t.Errorf("response %t: %g allocations", response, n)
		}
	}
}

// The reader never fails in another way than with an error, understands any pieces as it does the whole, and
// agrees with net/http about every message that both accept.
func FuzzReader(f *testing.F) {
	for _, text := range []string{
		get, ok, get + get, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a\r\nabc\r\n0\r\nX: y\r\n\r\n" + get,
		"HTTP/1.1 100 Continue\r\n\r\n" + ok, "HTTP/1.0 200 OK\r\n\r\nabc", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"\r\n" + get, "GET / HTTP/1.1\nHost: a\n\n", "\x16\x03\x01", "SSH-2.0-x\r\n", "HTTP/1.1 204 \r\n\r\n" + ok,
	} {
		f.Add([]byte(text), []byte{1, 2, 3}, false)
		f.Add([]byte(text), []byte{7, 1, 30}, true)
	}
	f.Fuzz(func(t *testing.T, text, sizes []byte, response bool) {
		whole := read(reader(response), text)
		cuts := []int{}
		for _, n := range sizes {
			cuts = append(cuts, int(n))
		}
		must.Equal(t, whole, read(reader(response), text, cuts...))
		must.Equal(t, whole, read(reader(response), text, bytewise(string(text))...))
		if len(whole) == 0 || whole[0].Status > 0 || whole[0].Cut {
			return
		}
		from := bufio.NewReaderSize(bytes.NewReader(text), 2*MaxHead)
		var head string
		var body io.ReadCloser
		if response {
			theirs, err := http.ReadResponse(from, nil)
			if err != nil {
				return
			}
			defer theirs.Body.Close()
			if theirs.StatusCode < 200 { // it does not skip interim responses
				return
			}
			head, body = http.StatusText(theirs.StatusCode), theirs.Body
		} else {
			theirs, err := http.ReadRequest(from)
			if err != nil {
				return
			}
			head, body = theirs.Method+" "+theirs.RequestURI, theirs.Body
		}
		n, err := io.Copy(io.Discard, body)
		if err != nil {
			return
		}
		must.Equal(t, []any{head, n}, []any{whole[0].Head, whole[0].Body})
	})
}
