package foreign

import (
	"bufio"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// decoded is a text as UTF-8 without a byte order mark. A text that begins with the mark of UTF-16, as
// PowerShell writes with >, is converted.
func decoded(r io.Reader) *bufio.Reader {
	return bufio.NewReaderSize(transform.NewReader(r, unicode.BOMOverride(transform.Nop)), readSize)
}
