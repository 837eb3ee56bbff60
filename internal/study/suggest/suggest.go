// Package suggest creates error texts for unknown names: which name was probably meant,
// or which names exist.
package suggest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Unknown is the error text for a name that is not among names: with the nearest of them,
// or with all if none is near. What is "key", "mode", "workload" and similar.
func Unknown(what, name, where string, names []string) string {
	text := fmt.Sprintf("unknown %s %s%s", what, Quote(name), where)
	if meant := Meant(name, names); meant != "" {
		return fmt.Sprintf("%s; did you mean %s?", text, meant)
	}
	return fmt.Sprintf("%s; allowed: %s", text, strings.Join(names, ", "))
}

// Meant is the name that was probably meant, in quotes, or several that end alike; empty if none is near.
func Meant(name string, names []string) string {
	if near, ok := Nearest(name, names); ok {
		return strconv.Quote(near)
	}
	return Either(ending(name, names))
}

// longest is the length of a name up to which another is near, in bytes.
const longest = 64

// Nearest finds the name that was probably meant: within one edit for each three letters,
// or the only one that ends in it, or nearly so (bridge for netns/bridge).
func Nearest(name string, names []string) (string, bool) {
	if name == "" || len(name) > longest {
		return "", false
	}
	got := fold(name)
	best, found := max(1, min(len(got)/3, 3))+1, ""
	for _, n := range names {
		if apart := len(got) - len(n); max(apart, -apart) >= best {
			continue // each additional letter is an edit
		}
		if d := distance(got, fold(n)); d < best {
			best, found = d, n
		}
	}
	if found != "" {
		return found, true
	}
	if one := ending(name, names); len(one) == 1 {
		return one[0], true
	}
	return "", false
}

// ending lists the names whose last part is name, or else, where the parts are separated by a slash, those whose last
// part is nearest to it, within one edit for each three letters.
func ending(name string, names []string) []string {
	var found, near []string
	if name == "" || len(name) > longest {
		return nil
	}
	got := fold(name)
	best := min(len(got)/3, 3)
	for _, n := range names {
		f := fold(n)
		if strings.HasSuffix(f, "/"+got) || strings.HasSuffix(f, "_"+got) {
			found = append(found, n)
			continue
		}
		at := strings.LastIndexByte(f, '/')
		if apart := len(f) - at - 1 - len(got); at < 0 || max(apart, -apart) > best {
			continue
		}
		switch d := distance(got, f[at+1:]); {
		case d < best:
			best, near = d, []string{n}
		case d == best && best > 0:
			near = append(near, n)
		}
	}
	if found == nil {
		return near
	}
	return found
}

// fold removes differences in spelling: Write-Size, write_size.
func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// distance is the number of letters to insert, delete, replace or swap with a neighbour
// to turn a into b (Damerau 1964, optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}

// Either joins names with commas and an "or".
func Either(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Quote shows text from a file or a flag on one line and at a bounded length.
func Quote(text string) string {
	const most = 40
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "..."
	}
	return strconv.Quote(text)
}
