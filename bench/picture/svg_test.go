package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"tare/internal/testkit/must"
	"tare/internal/testkit/screen"
)

// A picture says what the screen says, escaped, each look in its place.
func TestSVG(t *testing.T) {
	s := screen.New(20, 3)
	_, _ = s.Write([]byte("a \x1b[1mbold\x1b[m  <b>&\"  x y\r\n\x1b[31m  red\x1b[2m faint"))
	got := svg(s.All(), `a "title" <x>`)
	d := xml.NewDecoder(strings.NewReader(got))
	var said []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, got)
		}
		if c, ok := token.(xml.CharData); ok && strings.TrimSpace(string(c)) != "" {
			said = append(said, string(c))
		}
	}
	must.EqualFor(t, "it says", `a "title" <x>|a|bold|<b>&"|x y|red|faint`, strings.Join(said, "|"))
	for _, want := range []string{
		`<text x="30.8" y="28" textLength="33.6" lengthAdjust="spacingAndGlyphs" font-weight="bold">bold</text>`,
		`<text x="30.8" y="46" textLength="25.2" lengthAdjust="spacingAndGlyphs" fill="#ff7b72">red</text>`,
	} {
		must.Contain(t, got, want)
	}
}
