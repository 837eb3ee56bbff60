package tool

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
	"unicode/utf16"

	"tare/internal/testkit/must"
)

// The Windows tool writes in the system's code page, and a redirected output is UTF-16: all are read
// alike.
func TestNtttcpEncodings(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/ntttcp-windows-5.40/tcp.receiver.xml"))(t)
	want := must.Get(parseNtttcp(text))(t)
	wide := func(order binary.AppendByteOrder, mark ...byte) []byte {
		out := mark
		for _, u := range utf16.Encode([]rune(string(text))) {
			out = order.AppendUint16(out, u)
		}
		return out
	}
	little := wide(binary.LittleEndian, 0xff, 0xfe)
	for name, text := range map[string][]byte{
		"UTF-8 with a mark":       append([]byte("\xef\xbb\xbf"), text...),
		"UTF-16, little-endian":   little,
		"UTF-16, big-endian":      wide(binary.BigEndian, 0xfe, 0xff),
		"UTF-16, an odd byte":     append(little[:len(little):len(little)], 'x'),
		"Windows-1252, declared":  bytes.Replace(bytes.Replace(text, []byte("utf-8"), []byte("Windows-1252"), 1), []byte("SANDBOX"), []byte("B\xdcRO"), 1),
		"a code page, undeclared": bytes.Replace(text, []byte("SANDBOX"), []byte("\x83e\x83X"), 1),
	} {
		got, err := parseNtttcp(text)
		must.True(t, err == nil, "%s: %v", name, err)
		must.EqualFor(t, name, want, got)
	}
}
