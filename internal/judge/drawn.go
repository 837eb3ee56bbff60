package judge

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// hasTable reports whether a text has a table with lines between its columns: a row of bars, and a line that
// separates rows.
func hasTable(start []byte) bool {
	row := false
	for line := range bytes.Lines(start) {
		text := plainBars(string(line))
		if isRule(text) && (row || strings.HasPrefix(text, "+")) {
			return true
		}
		row = strings.Contains(text, "|")
	}
	return false
}

// plainBars writes the lines of a drawn table as those of Markdown. A bar that Markdown escapes is no line.
func plainBars(line string) string { return strings.TrimSpace(bars.Replace(line)) }

var bars = strings.NewReplacer("│", "|", "┃", "|", "║", "|", "─", "-", "━", "-", "═", "=", "┌", "+", "├", "+", "└", "+", "┬", "+", "┼", "+", "┴", "+",
	"┐", "+", "┤", "+", "┘", "+", "╔", "+", "╠", "+", "╚", "+", "╦", "+", "╬", "+", "╩", "+", "╗", "+", "╣", "+", "╝", "+", "┏", "+", "┗", "+", "┓", "+", "┛", "+",
	"╞", "+", "╪", "+", "╡", "+", "┡", "+", "╇", "+", "┩", "+", "\\|", "¦")

// isRule reports whether a line only separates rows: |---|:-:|, +---+---+, ---+---.
func isRule(text string) bool {
	return strings.Trim(text, "|+-=: ") == "" && (strings.Contains(text, "--") || strings.Contains(text, "==") || strings.Contains(text, "|-") || strings.Contains(text, "|:-")) &&
		strings.ContainsAny(text, "|+")
}

// drawn reads a table with lines between its columns: Markdown, a grid, or pipes as psql writes them. Text around
// it is skipped. A second table must have the columns of the first.
func (b *builder) drawn(in *bufio.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRecord)
	var t *tableReader
	var columns []string
	line, inside := 0, false
	for b.in.next(); lines.Scan(); b.in.next() {
		line++
		text := plainBars(lines.Text())
		if isRule(text) {
			continue
		}
		if !strings.Contains(text, "|") {
			inside = false
			continue
		}
		cells := splitCells(text)
		if !inside {
			inside = true
			switch {
			case t == nil:
				head, err := b.header(cells, line)
				if err != nil {
					return err
				}
				columns = cells
				t = &tableReader{builder: b, header: head, width: len(cells), comma: '|', file: b.files.index(b.file)}
			case !slices.Equal(cells, columns):
				return fmt.Errorf("line %d: a second table with other columns; give a file with one table each", line)
			}
			continue
		}
		if err := t.read(line, cells); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d is %w", line+1, errRecord)
	}
	if lines.Err() != nil {
		return lines.Err()
	}
	if t == nil {
		return errors.New("there is no table: it needs a header with the columns mode and value")
	}
	t.reportWarnings()
	return nil
}

// splitCells splits a row. Marks of Markdown around a cell, such as those of bold type, are left out.
func splitCells(text string) []string {
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(text, "|"), "|"), "|")
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(strings.Trim(strings.TrimSpace(c), "*`")), "¦", "|")
	}
	return cells
}
