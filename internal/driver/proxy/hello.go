package proxy

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"

	"tare/internal/driver/proxy/relay"
)

// The parts of a ServerHello that tell what was negotiated (RFC 8446 sections 4.1.3 and 4.2).
const (
	recordHeader      = 5
	helloHeader       = 4 // type and length
	helloRandom       = 32
	typeServerHello   = 2
	extensionVersions = 43
	extensionKeyShare = 51
)

// negotiatedIn returns what the first ServerHello in captured frames negotiated.
func negotiatedIn(frames [][]byte) (relay.State, bool) {
	for _, f := range frames {
		for rest := f; ; rest = rest[1:] {
			i := bytes.Index(rest, []byte{0x16, 3, 3})
			if i < 0 {
				break
			}
			rest = rest[i:]
			if s, ok := parseServerHello(rest); ok {
				return s, true
			}
		}
	}
	return relay.State{}, false
}

// parseServerHello reads a record that begins with a ServerHello of TLS 1.3.
func parseServerHello(record []byte) (s relay.State, ok bool) {
	r := reader(record)
	header, ok := r.take(recordHeader + helloHeader)
	if !ok || header[recordHeader] != typeServerHello {
		return s, false
	}
	r.take(2 + helloRandom) // the version of TLS 1.2, and random bytes
	r.vector(1)             // session id
	suite, ok := r.take(2)
	if !ok {
		return s, false
	}
	r.take(1) // compression
	all, ok := r.vector(2)
	if !ok {
		return s, false
	}
	s.Suite = tls.CipherSuiteName(binary.BigEndian.Uint16(suite))
	for extensions := reader(all); len(extensions) > 0; {
		kind, known := extensions.take(2)
		value, complete := extensions.vector(2)
		if !known || !complete || len(value) < 2 {
			return s, false
		}
		switch binary.BigEndian.Uint16(kind) {
		case extensionVersions:
			s.Version = tls.VersionName(binary.BigEndian.Uint16(value))
		case extensionKeyShare:
			s.Curve = tls.CurveID(binary.BigEndian.Uint16(value)).String()
		}
	}
	return s, s.Version != "" && s.Curve != ""
}

// reader reads the fields of a message one after the other.
type reader []byte

// take returns the next n bytes.
func (r *reader) take(n int) ([]byte, bool) {
	if len(*r) < n {
		*r = nil
		return nil, false
	}
	b := (*r)[:n]
	*r = (*r)[n:]
	return b, true
}

// vector returns the bytes that follow their length, which takes n bytes.
func (r *reader) vector(n int) ([]byte, bool) {
	length, ok := r.take(n)
	if !ok {
		return nil, false
	}
	size := 0
	for _, b := range length {
		size = size<<8 | int(b)
	}
	return r.take(size)
}
