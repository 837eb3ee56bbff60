package here

import (
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testkit/must"
)

// packed returns a message with its header.
func packed(kind, flags uint16, sequence uint32, body ...byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, flags)
	b = binary.NativeEndian.AppendUint32(b, sequence)
	b = append(binary.NativeEndian.AppendUint32(b, 0), body...)
	return append(b, make([]byte, aligned(len(b))-len(b))...)
}

func TestMessages(t *testing.T) {
	refused := binary.NativeEndian.AppendUint32(nil, uint32(0xffffffff)) // -EPERM
	one := packed(16, unix.NLM_F_MULTI, 1, 1, 2, 3)
	for name, c := range map[string]struct {
		packet []byte
		found  int
		done   bool
		err    error
	}{
		"two of a list":      {append(one, one...), 2, false, nil},
		"the end":            {append(one, packed(unix.NLMSG_DONE, 0, 1, 0, 0, 0, 0)...), 1, true, nil},
		"refused":            {packed(unix.NLMSG_ERROR, 0, 1, refused...), 0, true, unix.EPERM},
		"refused at the end": {packed(unix.NLMSG_DONE, 0, 1, refused...), 0, true, unix.EPERM},
		"of another request": {packed(16, 0, 2, 1), 0, false, nil},
		"interrupted":        {append(packed(16, unix.NLM_F_DUMP_INTR, 1, 1), packed(unix.NLMSG_DONE, 0, 1)...), 1, true, errInterrupted},
		"nothing":            {nil, 0, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, done, err := messages(c.packet)
			must.True(t, len(got) == c.found && done == c.done && errors.Is(err, c.err), "%d messages, done %v: %v", len(got), done, err)
		})
	}
	if _, _, err := messages(one[:len(one)-4]); err == nil {
		t.Error("a truncated message was read")
	}
}

// FuzzMessages checks that no packet of messages and attributes is read beyond its end.
func FuzzMessages(f *testing.F) {
	f.Add(packed(16, 0, 1, appendAttribute(make([]byte, unix.SizeofIfInfomsg), unix.IFLA_IFNAME, []byte("x\x00"))...))
	f.Add(packed(16, 0, 1, 255, 255, 1, 0, 9))
	f.Fuzz(func(t *testing.T, packet []byte) {
		found, _, _ := messages(packet)
		size := 0
		for _, m := range found {
			size += len(m.body)
			if len(m.body) >= unix.SizeofIfInfomsg {
				linkOf(m.body)
			}
			for _, v := range attributes(m.body) {
				size += len(v)
			}
		}
		must.True(t, size <= 2*len(packet), "%d bytes of %d", size, len(packet))
	})
}
