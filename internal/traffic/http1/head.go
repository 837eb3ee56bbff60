package http1

import (
	"bytes"
	"strings"
)

// Head is the start line and the header fields of a message. Its texts are valid until the next message
// is read.
type Head struct {
	Method, Target []byte // of a request
	Status         int    // of a response
	Minor          int    // of the version: HTTP/1.1 or HTTP/1.0
	KeepAlive      bool   // the sender keeps the connection open after the message
	Expects        bool   // a request that waits for Continue before its body

	fields []field
	length int64 // of the body; the others are negative
}

// Bodies without a length.
const (
	lengthChunked    = -1
	lengthUntilClose = -2
)

type field struct{ name, value []byte }

// Field returns the value of the first field of that name, in any case, and whether there is one.
func (h *Head) Field(name string) (value []byte, found bool) {
	for i := range h.fields {
		if same(h.fields[i].name, name) {
			return h.fields[i].value, true
		}
	}
	return nil, false
}

// Is reports whether a field of that name has that value, without regard to case.
func (h *Head) Is(name, value string) bool {
	got, found := h.Field(name)
	return found && same(got, value)
}

// same compares ASCII texts without regard to case.
func same(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i, c := range b {
		if lower(c) != lower(s[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// parse reads a complete head, with the empty line that ends it.
func (h *Head) parse(text []byte, response bool) *Error {
	*h = Head{fields: h.fields[:0], length: 0}
	line, rest := cutLine(text)
	var err *Error
	if response {
		err = h.statusLine(line)
	} else {
		err = h.requestLine(line)
	}
	for err == nil {
		if line, rest = cutLine(rest); len(line) == 0 {
			break
		}
		err = h.field(line)
	}
	if err != nil {
		return err
	}
	return h.framing(response)
}

// cutLine returns a line without its CRLF, and what follows.
func cutLine(text []byte) (line, rest []byte) {
	i := bytes.IndexByte(text, '\n')
	return text[:i-1], text[i+1:]
}

func (h *Head) requestLine(line []byte) *Error {
	method, rest, _ := bytes.Cut(line, []byte(" "))
	target, version, parted := bytes.Cut(rest, []byte(" "))
	if !isToken(method) || !parted {
		return bad("the request line is not method, target and version, parted by one space each")
	}
	if len(target) == 0 || !isVisible(target) {
		return bad("the target of the request is empty or has a character that is not allowed")
	}
	h.Method, h.Target = method, target
	return h.version(version)
}

func (h *Head) statusLine(line []byte) *Error {
	version, rest, _ := bytes.Cut(line, []byte(" "))
	if err := h.version(version); err != nil {
		return err
	}
	code, reason, _ := bytes.Cut(rest, []byte(" "))
	if len(code) != 3 || !isDigits(code) || code[0] == '0' {
		return bad("the status line has no status of three digits")
	}
	if !isText(reason) {
		return bad("the reason of the status line has a control character")
	}
	h.Status = int(code[0]-'0')*100 + int(code[1]-'0')*10 + int(code[2]-'0')
	return nil
}

func (h *Head) version(b []byte) *Error {
	switch v := string(b); {
	case v == "HTTP/1.1":
		h.Minor = 1
	case v == "HTTP/1.0":
	case len(v) == len("HTTP/1.1") && strings.HasPrefix(v, "HTTP/") && isDigits(b[5:6]) && b[6] == '.' && isDigits(b[7:8]):
		return &Error{Status: StatusUnsupportedVersion, Text: "the version is " + v + ", not HTTP/1.1 or HTTP/1.0"}
	default:
		return bad("the start line has no version of HTTP")
	}
	return nil
}

func (h *Head) field(line []byte) *Error {
	if line[0] == ' ' || line[0] == '\t' {
		return bad("a header field continues on a second line")
	}
	name, value, parted := bytes.Cut(line, []byte(":"))
	if !parted || !isToken(name) {
		return bad("a header field has no name, or a character in it that is not allowed")
	}
	value = bytes.Trim(value, " \t")
	if !isText(value) {
		return bad("the header field %s has a control character", name)
	}
	h.fields = append(h.fields, field{name, value})
	return nil
}

// framing determines how long the body is (RFC 9112, 6.3), and refuses what two recipients could understand
// differently (11.2).
func (h *Head) framing(response bool) *Error {
	var length, coding []byte
	var lengths, codings, hosts int
	var closes, keeps bool
	for i := range h.fields {
		f := &h.fields[i]
		switch {
		case same(f.name, "Content-Length"):
			length = f.value
			lengths++
		case same(f.name, "Transfer-Encoding"):
			coding = f.value
			codings++
		case same(f.name, "Connection"):
			closes, keeps = closes || lists(f.value, "close"), keeps || lists(f.value, "keep-alive")
		case same(f.name, "Host"):
			hosts++
		case same(f.name, "Expect"):
			h.Expects = same(f.value, "100-continue") && h.Minor > 0
		}
	}
	h.KeepAlive = !closes && (h.Minor > 0 || keeps)
	switch {
	case lengths > 1 || codings > 1:
		return bad("there are several lengths or transfer codings of the body")
	case lengths > 0 && (!isDigits(length) || len(length) > 18):
		return bad("the length of the body is not a number of at most 18 digits")
	case !response && (hosts > 1 || hosts == 0 && h.Minor > 0):
		return bad("the request has %d Host fields, not one", hosts)
	case codings > 0 && lengths > 0:
		return bad("the body has both a length and a transfer coding")
	case codings > 0 && h.Minor == 0:
		return bad("the body has a transfer coding, which HTTP/1.0 does not know")
	case codings > 0 && !same(coding, "chunked"):
		return &Error{Status: StatusNotImplemented, Text: "the transfer coding of the body is not chunked"}
	case response && (h.Status < 200 || h.Status == StatusNoContent || h.Status == StatusNotModified):
		h.length = 0
	case codings > 0:
		h.length = lengthChunked
	case lengths > 0:
		h.length = number(length)
	case response:
		h.length, h.KeepAlive = lengthUntilClose, false
	}
	h.Expects = h.Expects && h.length != 0
	return nil
}

// lists reports whether a list of options, as in a Connection field, has that one.
func lists(list []byte, option string) bool {
	for len(list) > 0 {
		var one []byte
		one, list, _ = bytes.Cut(list, []byte(","))
		if same(bytes.Trim(one, " \t"), option) {
			return true
		}
	}
	return false
}

func number(digits []byte) (n int64) {
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	return n
}

func isDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// isToken reports whether b is a token (RFC 9110, 5.6.2).
func isToken(b []byte) bool {
	for _, c := range b {
		if !tokenChars[c] {
			return false
		}
	}
	return len(b) > 0
}

//nolint:gochecknoglobals // immutable
var tokenChars = func() (is [256]bool) {
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		is[c] = true
	}
	return is
}()

// isVisible reports whether all characters of b are visible ASCII.
func isVisible(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// isText reports whether b has no control character but tabs.
func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
