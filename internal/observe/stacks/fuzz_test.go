package stacks

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// FuzzReadSymbols checks that any list of the kernel's functions is an error or a sorted table in
// which each address is found.
func FuzzReadSymbols(f *testing.F) {
	f.Add("ffffffff81000000 T _text\nffffffff81000010 t a.isra.0\nffffffffa0000000 t in_a_module\t[nft]\n")
	f.Add("0000000000000000 T hidden\n")
	f.Add("ffffffffffffffff T last\nffffffffffffffff T alias\n")
	f.Add("x T y\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := readSymbols(strings.NewReader(text))
		if err != nil {
			return
		}
		must.Require(t, len(s.addresses) != 0 && len(s.addresses) == len(s.names) && slices.IsSorted(s.addresses),
			"%d addresses and %d names of %q", len(s.addresses), len(s.names), text)
		for i, at := range s.addresses {
			if name, ok := s.at(at); !ok || name != s.names[i] {
				t.Errorf("%x is %q, %v; want %q", at, name, ok, s.names[i])
			}
		}
		s.at(s.addresses[0] - 1) // below the first, or the largest number
	})
}

// FuzzRead checks that folded stacks which were read are written and read again without change.
func FuzzRead(f *testing.F) {
	f.Add([]byte("generator (tare);main.main;tcp_sendmsg_[k] 12\nidle (swapper) 1\nidle (swapper) 2\n"))
	f.Add([]byte("a 9223372036854775807\na 1\n"))
	f.Add([]byte("a -1\n"))
	f.Add([]byte(" 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		counted, err := Read(data)
		if err != nil {
			return
		}
		for stack, n := range counted {
			must.True(t, n >= 0, "%q is counted %d times", stack, n)
		}
		var out bytes.Buffer
		must.Do(t, Write(&out, counted))
		if again, err := Read(out.Bytes()); err != nil || !maps.Equal(counted, again) {
			t.Errorf("%v: %v came back as %v", err, counted, again)
		}
	})
}
