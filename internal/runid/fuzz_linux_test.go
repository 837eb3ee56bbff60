package runid

import (
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
)

// FuzzSockets checks that any answer of the kernel about a socket is an error, or a socket whose
// name is in the answer: every user chooses the names of their own.
func FuzzSockets(f *testing.F) {
	message := func(attributes ...string) []byte {
		b := make([]byte, diagHead)
		for i, value := range attributes {
			b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofNlAttr+len(value)))
			b = binary.NativeEndian.AppendUint16(b, []uint16{attrName, attrUser}[i%2])
			b = append(b, value...)
			for len(b)%unix.NLA_ALIGNTO != 0 {
				b = append(b, 0)
			}
		}
		return b
	}
	f.Add(message("\x00tare-run/0123abcd", "\x01\x00\x00\x00"))
	f.Add(message("/run/x.sock", "x"))
	f.Add(message("\x00a\n\x1b", "\xff\xff\xff\xff", "\x00"))
	f.Add(append(message(), 0xff, 0xff, 0, 0))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := socketOf(data)
		if err != nil {
			return
		}
		must.True(t, s.Name == "" || s.Name[0] == '@' && strings.Contains(string(data), "\x00"+s.Name[1:]), "%q is named %q", data, s.Name)
		if id, ok := strings.CutPrefix(s.Name, "@tare-run/"); ok && IsID(id) && len(id) != 2*idBytes {
			t.Errorf("the run %q", id)
		}
	})
}
