package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// FuzzText checks that a drawing with any text is well-formed XML of the expected elements, and
// that the text is its only content.
func FuzzText(f *testing.F) {
	for _, s := range []string{"plain", "</text><script>alert(1)</script>", "\x1b[31m\u202e", "a&b<c>\"'", "]]>", "\xff\x00\ufffe", "&#x1b;"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, label, tip string) {
		var c canvas
		c.printf("<svg>")
		c.text(1, 2, "label", "end", label)
		c.dot(3, 4, Dot{Tip: tip})
		c.printf("</svg>")
		var content strings.Builder
		for d := xml.NewDecoder(strings.NewReader(c.String())); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			must.Require(t, err == nil, "%v in\n%s", err, c.String())
			switch v := token.(type) {
			case xml.StartElement:
				must.Require(t, strings.Contains(" svg text path title ", " "+v.Name.Local+" "), "an element %q in\n%s", v.Name.Local, c.String())
			case xml.CharData:
				content.Write(v)
			case xml.EndElement:
			default:
				t.Fatalf("%#v in\n%s", v, c.String())
			}
		}
		must.True(t, !strings.ContainsAny(content.String(), "\x1b\x00\u202e"), "the text is %q", content.String())
	})
}
