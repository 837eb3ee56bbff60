package http2

import (
	"bytes"
	"strconv"

	"golang.org/x/net/http2/hpack"
)

// Head are the fields of a request, a response or a trailer. It does not change.
type Head struct {
	Method, Path string // of a request
	Status       int    // of a response
	Length       int64  // of the body, as the fields tell; -1 if they do not

	fields []hpack.HeaderField
}

// Field returns the value of the first field with a name in lower case.
func (h *Head) Field(name string) (value string, found bool) {
	if h == nil {
		return "", false
	}
	for i := range h.fields {
		if h.fields[i].Name == name {
			return h.fields[i].Value, true
		}
	}
	return "", false
}

// The kinds of header blocks.
type blockKind uint8

const (
	requestBlock blockKind = iota
	responseBlock
	trailerBlock
)

// decoder decodes the header blocks of a connection. It keeps the last ones that left the table of fields as it was: as long as
// the table stays the same, such a block means the same each time.
type decoder struct {
	hpack  *hpack.Decoder
	fields []hpack.HeaderField // of the current block
	size   int                 // of them
	recent [2]decoded
	oldest int
}

// decoded is a block with what it means.
type decoded struct {
	kind  blockKind
	block []byte
	head  *Head
}

func newDecoder() *decoder {
	d := &decoder{}
	d.hpack = hpack.NewDecoder(tableSize, func(f hpack.HeaderField) {
		d.size += int(f.Size())
		if d.size > MaxFields {
			d.hpack.SetEmitEnabled(false)
			return
		}
		d.fields = append(d.fields, f)
	})
	d.hpack.SetMaxStringLength(MaxFields)
	return d
}

// decode decodes a block. The error is that of the connection; malformed says what is wrong with the fields, "" if nothing is.
func (d *decoder) decode(kind blockKind, block []byte) (h *Head, malformed string, err *Error) {
	for i := range d.recent {
		if r := &d.recent[i]; r.head != nil && r.kind == kind && bytes.Equal(r.block, block) {
			return r.head, "", nil
		}
	}
	d.fields, d.size = nil, 0
	d.hpack.SetEmitEnabled(true)
	_, failed := d.hpack.Write(block)
	if failed == nil {
		failed = d.hpack.Close()
	}
	switch {
	case failed != nil:
		return nil, "", bad(CompressionError, "a header block cannot be decoded")
	case d.size > MaxFields:
		return nil, "", bad(EnhanceYourCalm, "its header fields are longer than %d KiB", MaxFields>>10)
	}
	keeps := changesTable(block)
	if keeps {
		d.recent = [2]decoded{}
	}
	h = &Head{Length: -1, fields: d.fields}
	if malformed = h.check(kind); malformed == "" && !keeps {
		d.recent[d.oldest] = decoded{kind, bytes.Clone(block), h}
		d.oldest = 1 - d.oldest
	}
	return h, malformed, nil
}

// changesTable reports whether a block changes the table of fields (RFC 7541, 6), or may.
func changesTable(block []byte) bool {
	for len(block) > 0 {
		switch b := block[0]; {
		case b >= 0x80:
			_, block = integer(block, 7)
		case b >= 0x20: // a field to keep, or the size of the table
			return true
		default:
			var index uint64
			if index, block = integer(block, 4); index == 0 {
				block = skipString(block)
			}
			block = skipString(block)
		}
		if block == nil {
			return true
		}
	}
	return false
}

// integer reads an integer with a prefix of that many bits. The rest is nil if it is not whole.
func integer(b []byte, prefix int) (n uint64, rest []byte) {
	if len(b) == 0 {
		return 0, nil
	}
	most := uint64(1)<<prefix - 1
	n = uint64(b[0]) & most
	if n < most {
		return n, b[1:]
	}
	for i, c := range b[1:] {
		n += uint64(c&0x7f) << (7 * i)
		if c < 0x80 || i == 4 {
			return n, b[i+2:]
		}
	}
	return 0, nil
}

func skipString(b []byte) []byte {
	n, rest := integer(b, 7)
	if n > uint64(len(rest)) {
		return nil
	}
	return rest[n:]
}

// check reads the fields that have a meaning in HTTP/2 and returns what is wrong with them (RFC 9113, 8.1 to 8.3).
func (h *Head) check(kind blockKind) (malformed string) {
	var scheme bool
	var seen [4]bool // of pseudo-header fields
	regular := false
	for i := range h.fields {
		name, value := h.fields[i].Name, h.fields[i].Value
		if name == "" || !isValue(value) {
			return "a header field has no name, or a control character"
		}
		if name[0] != ':' {
			regular = true
			if what := h.regular(kind, name, value); what != "" {
				return what
			}
			continue
		}
		pseudo := -1
		switch {
		case kind == requestBlock && name == ":method":
			pseudo, h.Method = 0, value
		case kind == requestBlock && name == ":path":
			pseudo, h.Path = 1, value
		case kind == requestBlock && name == ":scheme":
			pseudo, scheme = 2, value != ""
		case kind == requestBlock && name == ":authority":
			pseudo = 3
		case kind == responseBlock && name == ":status":
			pseudo = 0
			code, err := strconv.ParseUint(value, 10, 10)
			if err != nil || len(value) != 3 || code < 100 {
				return "the status is not a number of three digits"
			}
			h.Status = int(code)
		}
		if pseudo < 0 || regular || seen[pseudo] {
			return "a pseudo-header field is unknown, repeated or behind others"
		}
		seen[pseudo] = true
	}
	switch {
	case kind == requestBlock && (h.Method == "" || h.Path == "" || !scheme):
		return "the request has no method, scheme or path"
	case kind == responseBlock && h.Status == 0:
		return "the response has no status"
	}
	return ""
}

// regular reads a field that is no pseudo-header field.
func (h *Head) regular(kind blockKind, name, value string) (malformed string) {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || 'A' <= c && c <= 'Z' || c == ':' {
			return "the name of a header field has a character that is not allowed"
		}
	}
	switch name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return "the header field " + name + " is not one of HTTP/2"
	case "te":
		if value != "trailers" {
			return "the header field te is not trailers"
		}
	case "content-length":
		n, err := strconv.ParseUint(value, 10, 62)
		if err != nil || value[0] == '+' || h.Length >= 0 && h.Length != int64(n) {
			return "the length of the body is not one number"
		}
		if kind != trailerBlock {
			h.Length = int64(n)
		}
	}
	return ""
}

// isValue reports whether a value has no characters that are not allowed.
func isValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c == 0 || c == '\r' || c == '\n' {
			return false
		}
	}
	return true
}
