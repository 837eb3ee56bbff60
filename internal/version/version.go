// Package version compares versions of programs by their first two numbers. A text that does not begin with
// two numbers and a dot between them is no version: nothing is known of it, so it is neither older
// nor newer than any.
package version

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// numbers returns the first two numbers of a version, without leading zeros.
func numbers(text string) (of [2]string, known bool) {
	m := regexp.MustCompile(`^([0-9]+)\.([0-9]+)`).FindStringSubmatch(text)
	if m == nil {
		return of, false
	}
	return [2]string{strings.TrimLeft(m[1], "0"), strings.TrimLeft(m[2], "0")}, true
}

// compare is below 0 if a is older than b. known is false if one of them is no version.
func compare(a, b string) (order int, known bool) {
	x, ok := numbers(a)
	y, also := numbers(b)
	for i := range x {
		order = cmp.Or(order, cmp.Compare(len(x[i]), len(y[i])), strings.Compare(x[i], y[i]))
	}
	return order, ok && also
}

// Known reports whether a text begins with a version.
func Known(text string) bool { _, known := numbers(text); return known }

// Older reports whether a version is older than another; not if one of them is none.
func Older(version, than string) bool {
	order, known := compare(version, than)
	return known && order < 0
}

// AtLeast reports whether a version is another or newer; not if one of them is none.
func AtLeast(version, other string) bool {
	order, known := compare(version, other)
	return known && order >= 0
}

// Tested is the oldest and the newest version that tests ran, and " to " or " and " between them: with
// those between, or these two only.
type Tested struct{ Oldest, Between, Newest string }

// String returns "4.3 to 5.8".
func (t Tested) String() string { return t.Oldest + t.Between + t.Newest }

// Beyond says in parentheses that a version of a program is newer than those that were tested; empty if it is not.
func (t Tested) Beyond(program, version string) string {
	if !Older(t.Newest, version) {
		return ""
	}
	return fmt.Sprintf(" (%s %s is newer than those that were tested, %s)", program, version, t)
}
