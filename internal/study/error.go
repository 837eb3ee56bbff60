package study

import (
	"errors"
	"fmt"
	"slices"
)

// Error is one problem of a study, in one line: what is wrong, then what is allowed. File
// is empty if the study did not come from a file.
type Error struct {
	File string
	Line int
	Text string
}

// Error returns file:line: text.
func (e *Error) Error() string {
	if e.File == "" {
		return e.Text
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// maxErrors is the maximum number of errors reported for one file.
const maxErrors = 20

// Join sorts errors by line and joins them to one error, whose text has a line for each.
// It returns nil if there are none.
func Join(errs []*Error) error {
	slices.SortStableFunc(errs, func(a, b *Error) int { return a.Line - b.Line })
	if more := len(errs) - maxErrors; more > 0 {
		next := *errs[maxErrors]
		next.Text = fmt.Sprintf("%d more problems follow", more)
		errs = append(errs[:maxErrors:maxErrors], &next)
	}
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	all := make([]error, len(errs))
	for i, e := range errs {
		all[i] = e
	}
	return errors.Join(all...)
}
