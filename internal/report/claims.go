package report

import (
	"io"

	"tare/internal/report/doc"
	"tare/internal/report/markdown"
	"tare/internal/report/text"
	"tare/internal/report/view/claims"
	"tare/internal/result"
)

// ClaimTable is the claims of several studies, ready to be written. Its texts are cleaned, but not
// escaped.
type ClaimTable = doc.Claims

// Claims writes the claims of the run on one screen for a terminal, as [Prepared.Overview] does. Its
// only error is that of w.
func (r Prepared) Claims(w io.Writer, opt TextOptions) error {
	_, err := w.Write(text.Claims(r.report.Claims(), opt))
	return err
}

// ClaimsTable writes all claims of the run alone. Its only error is that of w.
func (r Prepared) ClaimsTable(w io.Writer, opt TextOptions) error {
	_, err := w.Write(text.ClaimsTable(r.report.Claims(), opt))
	return err
}

// ClaimsSection writes the report's section about claims as Markdown, without its heading. Its only
// error is that of w.
func (r Prepared) ClaimsSection(w io.Writer) error {
	_, err := w.Write(markdown.Blocks(r.report.ClaimBlocks()))
	return err
}

// ClaimsOf prepares the claims of several studies.
func ClaimsOf(all []result.StudyClaims) ClaimTable { return claims.Of(all) }

// ClaimsText writes the claims of several studies for a terminal. Its only error is that of w.
func ClaimsText(w io.Writer, all []result.StudyClaims, opt TextOptions) error {
	_, err := w.Write(text.ClaimsTable(claims.Of(all), opt))
	return err
}

// ClaimsMarkdown writes the claims of several studies as Markdown: a table for each. Its only error is
// that of w.
func ClaimsMarkdown(w io.Writer, all []result.StudyClaims) error {
	_, err := w.Write(markdown.Blocks(claims.Tables(all)))
	return err
}
