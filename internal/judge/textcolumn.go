package judge

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
)

// maxTextColumns is how many columns of all files may have text that is not used.
const maxTextColumns = 16

// errTextColumns means that there are more.
var errTextColumns = fmt.Errorf("more than %d columns have text that judge does not know; leave those out that do not matter", maxTextColumns)

// textColumn is a column with text that is not used. Values that differ in it are not values of one thing, and
// are refused where they would be taken together.
type textColumn struct {
	first    map[cell]label // of the values of each cell
	seen     map[uint64]struct{}
	repeated bool   // a text is in two rows
	worded   bool   // a text has no digit
	differs  string // where two values of a cell differ, empty if they do nowhere
}

type label struct {
	hash uint64
	text string
	at   string
}

// textColumns are the columns with text that is not used, by name.
type textColumns struct {
	seed    maphash.Seed
	columns map[string]*textColumn
	order   []string
}

// add takes note of the text of a value that counts.
func (t *textColumns) add(name, text string, c cell, at func() string) error {
	if !isText(text) {
		return nil
	}
	col := t.columns[name]
	if col == nil {
		if len(t.columns) == maxTextColumns {
			return errTextColumns
		}
		col = &textColumn{first: map[cell]label{}, seen: map[uint64]struct{}{}}
		t.columns[name], t.order = col, append(t.order, name)
	}
	hash := maphash.String(t.seed, text)
	col.worded = col.worded || !strings.ContainsAny(text, "0123456789")
	if _, again := col.seen[hash]; again || col.repeated {
		col.repeated, col.seen = true, nil
	} else {
		col.seen[hash] = struct{}{}
	}
	if was, there := col.first[c]; !there {
		col.first[c] = label{hash, strings.Clone(text[:min(len(text), 64)]), at()}
	} else if was.hash != hash && col.differs == "" {
		col.differs = fmt.Sprintf("%s in %s, %s in %s", quote(was.text), was.at, quote(text), at())
	}
	return nil
}

// problem is the error for a column whose text tells values of one cell apart, nil if there is none. A text with
// digits that no two rows have is the name of a row.
func (t *textColumns) problem() error {
	for _, name := range t.order {
		if col := t.columns[name]; col.differs != "" && (col.repeated || col.worded) {
			return errors.New("values that differ in the column " + quote(name) + " (" + col.differs + ") are not values of one thing: " +
				"name that column metric, workload or mode, or leave it out")
		}
	}
	return nil
}

// isText reports whether a field has words: it is not empty, a number or a time.
func isText(text string) bool {
	if text == "" || text[0] >= '0' && text[0] <= '9' && strings.Trim(text, "0123456789:.,/+ TZ-") == "" {
		return false
	}
	_, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	return err != nil
}
