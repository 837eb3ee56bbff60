package printable

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"tare/internal/testkit/must"
)

func TestWriter(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "",
		"a,\"b\"\n\tc\r\n":                       "a,\"b\"\n\tc\n",
		"x\x1b[31mred\x1b]0;t\x07\u202ey\u200fz": "x[31mred]0;tyz",
		"\x00\x9b\u009b\x7f":                     "\uFFFD",
		"für 東京 😀":                               "für 東京 😀",
		"cell\u2028line\u2029end":                "celllineend",
		"over\rwritten\b\x0b\x0c\x85\ufeff\u00ad": "overwritten\uFFFD",
		"cut \xe6\x9d": "cut ",
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "by bytes": iotest.OneByteReader(strings.NewReader(in))} {
			var b strings.Builder
			v := NewWriter(&b)
			must.Get(io.Copy(struct{ io.Writer }{v}, r))(t)
			if got := b.String(); got != want || !utf8.ValidString(got) {
				t.Errorf("%s: %q became %q, want %q", name, in, got, want)
			}
		}
	}
}
