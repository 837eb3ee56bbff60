// Package report writes the reports of a run in two forms: text for the terminal, and a self-contained HTML page. Markdown
// has the first screen; figures are the drawings of the page as SVG. Package view decides what they show; packages
// text, markdown and html write it.
package report

import (
	"io"
	"strings"

	"tare/internal/report/doc"
	"tare/internal/report/html"
	"tare/internal/report/markdown"
	"tare/internal/report/text"
	"tare/internal/report/view"
	"tare/internal/report/view/change"
	"tare/internal/report/view/combination"
	"tare/internal/report/view/history"
	"tare/internal/report/view/model"
	"tare/internal/report/view/paths"
	"tare/internal/result"
	"tare/internal/wording"
)

// Input is the data of a report. All of it may be of foreign origin; it is cleaned here and
// escaped by the writers.
type Input = model.Input

// Units are in what the first screen shows changes.
type Units = model.Units

// The units.
const (
	UnitBoth    = model.UnitBoth
	UnitPercent = model.UnitPercent
	UnitTime    = model.UnitTime
)

// TextOptions says how to write for a terminal.
type TextOptions = text.Options

// Prepared is a report that is ready to be written in several forms. Preparing a run with many
// trials takes longer than writing it.
type Prepared struct {
	report view.Report
	doc    doc.Document
}

// Prepare prepares a report.
func Prepare(in Input) Prepared {
	r := view.New(in)
	return Prepared{r, r.Document()}
}

// PrepareRanking prepares the rankings of numbers without a baseline, which its Text, Markdown
// and HTML write: a table for each metric, the best mode first, with the modes that cannot be
// told apart.
func PrepareRanking(in Input) Prepared {
	r := view.New(in)
	return Prepared{r, r.Ranking()}
}

// Text writes the report for a terminal: no line is wider than opt.Width, but for
// a quoted command, and only opt.Color brings in escape sequences. Its only error
// is that of w.
func (r Prepared) Text(w io.Writer, opt TextOptions) error {
	_, err := w.Write(text.Write(r.doc, opt))
	return err
}

// MaxWidth is how many columns a terminal's report has at most.
const MaxWidth = text.MostColumns

// Overview writes the first screen of the report for a terminal: at most 40 lines of at
// most [MaxWidth] columns, with the answer last. Its only error is that of w.
func (r Prepared) Overview(w io.Writer, opt TextOptions) error {
	_, err := w.Write(text.Overview(r.report.Overview(), opt))
	return err
}

// Answer is the sentence of the first screen, cleaned and on one line.
func (r Prepared) Answer() string {
	return strings.Join(strings.Fields(wording.Clean(r.report.Overview().Sentence)), " ")
}

// Table writes the table of [Prepared.Overview] alone, with all its rows.
func (r Prepared) Table(w io.Writer, opt TextOptions) error {
	_, err := w.Write(text.OverviewTable(r.report.Overview(), opt))
	return err
}

// Markdown writes the first screen of the report as GitHub-flavoured Markdown: what identifies the run, what limits it,
// the answer with its table, the claims, all warnings, and the command to repeat the run. Its only error is that of w.
func Markdown(w io.Writer, in Input) error { return Prepare(in).Markdown(w) }

// Markdown writes the report as [Markdown] does.
func (r Prepared) Markdown(w io.Writer) error {
	_, err := w.Write(markdown.Write(r.doc))
	return err
}

// HTML writes the report as one page that needs nothing else: no request to anywhere. Nothing
// is missing without its script. A Content-Security-Policy allows its style and script by
// their hashes and nothing else. Its only error is that of w.
func HTML(w io.Writer, in Input) error { return Prepare(in).HTML(w) }

// HTML writes the report as [HTML] does.
func (r Prepared) HTML(w io.Writer) error {
	_, err := w.Write(html.Write(r.doc))
	return err
}

// Figures draws the figures of a run: file name, such as "tcp_stream-goodput.svg", to a
// standalone SVG. What was not measured has none.
func (r Prepared) Figures() (map[string][]byte, error) { return r.report.Figures(), nil }

// PathFigure draws the path of a mode as an SVG file: with what its last proof showed or, for
// a mode without trials, with what the counters must show. Empty where the path is unknown.
func PathFigure(m result.Mode) []byte { return paths.Figure(m) }

// PathInWords is the packet path of a mode by its steps, place by place; empty where it is
// unknown.
func PathInWords(m result.Mode) []string { return paths.InWords(m) }

// ChangesText writes for a terminal what changed from one run to another: first the settings,
// then cell by cell. Width and colour are as in [Prepared.Text]. Its only error is that of w.
func ChangesText(w io.Writer, c result.Changes, opt TextOptions) error {
	_, err := w.Write(text.Changes(change.Full(c), opt))
	return err
}

// ChangesOverview writes for a terminal what changed from one run to another on one
// screen, as [Prepared.Overview] does. The command prints all of it.
func ChangesOverview(w io.Writer, c result.Changes, command string, units Units, opt TextOptions) error {
	_, err := w.Write(text.Overview(change.Overview(c, command, units), opt))
	return err
}

// ChangesTable writes the table of [ChangesOverview] alone.
func ChangesTable(w io.Writer, c result.Changes, units Units, opt TextOptions) error {
	_, err := w.Write(text.OverviewTable(change.Overview(c, "", units), opt))
	return err
}

// ChangesMarkdown writes the same as Markdown.
func ChangesMarkdown(w io.Writer, c result.Changes) error {
	_, err := w.Write(markdown.Changes(change.Full(c)))
	return err
}

// ChangesHTML writes the same as a page like that of [HTML].
func ChangesHTML(w io.Writer, c result.Changes) error {
	_, err := w.Write(html.Changes(change.Full(c)))
	return err
}

// HistoryOptions say how a history is shown.
type HistoryOptions = history.Options

// PrepareHistory prepares how the results of a study changed over time, which its Text, Markdown
// and HTML write.
func PrepareHistory(h result.History, opt HistoryOptions) Prepared {
	return Prepared{doc: history.Document(h, opt)}
}

// HistoryAnswer is the answer of a history in one sentence: how many changes were found.
func HistoryAnswer(h result.History) string { return history.Answer(h) }

// ChangeTold returns the verdict with the change and, where there is one, its time: "worse: -14 % (-17 % to -11 %); +1.2 us
// (+1.1 .. +1.3)".
func ChangeTold(c result.Change) string { return change.Told(c) }

// Style is how pages look, with its source for a Content-Security-Policy that allows nothing
// else.
func Style() (style, source string) { return html.Style() }

// Script is the script of pages, with its source for a Content-Security-Policy that allows
// nothing else.
func Script() (script, source string) { return html.Script() }

// CombinationOptions say how a combination is shown.
type CombinationOptions = combination.Options

// PrepareCombination prepares the answer of several runs, which its Text, Markdown and HTML write.
func PrepareCombination(c result.Combination, opt CombinationOptions) Prepared {
	return Prepared{doc: combination.Document(c, opt)}
}
