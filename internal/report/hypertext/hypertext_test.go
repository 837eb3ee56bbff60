package hypertext_test

import (
	"bytes"
	"errors"
	"html"
	"strings"
	"testing"

	"tare/internal/report/hypertext"
	"tare/internal/testkit/must"
)

type named string

// Whatever a value is, it is escaped, unless it is markup or a number.
func TestWrite(t *testing.T) {
	var b bytes.Buffer
	hypertext.Write(&b, `<a title="%s">%s%s %d %.1f %s</a>`, `"x" onclick='y'`, named("<i>"), errors.New("a < b & c"), 7, 0.5, hypertext.Markup("<b>"))
	must.Equal(t, `<a title="&#34;x&#34; onclick=&#39;y&#39;">&lt;i&gt;a &lt; b &amp; c 7 0.5 <b></a>`, b.String())
}

func FuzzEscape(f *testing.F) {
	f.Add(`<script>alert("1")</script>&amp;'`)
	f.Add("a\x00b+c")
	f.Fuzz(func(t *testing.T, s string) {
		got := string(hypertext.Escape(s))
		must.True(t, !strings.ContainsAny(got, "<>\"'\x00"), "%q has markup", got)
		must.Equal(t, strings.ReplaceAll(s, "\x00", "\uFFFD"), html.UnescapeString(got))
	})
}
