package report

import (
	"fmt"
	"hash/fnv"

	"tare/internal/report/say"
)

const (
	// mostName is how many columns a name keeps: no study's is longer, and a page says
	// each many times.
	mostName = 200
	// mostProse is how many columns are kept of what is said in words.
	mostProse = 20000
	// mostWhy is how many columns are kept of why one of many trials does not count.
	mostWhy = 2000
)

// name cleans a name, and shortens one that only a broken file can have. Two that
// differ stay different.
func name(s string) string {
	clean := say.Clean(s)
	if len(clean) <= mostName {
		return clean
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(clean)) // a hash takes all there is
	return say.CutMiddle(clean, mostName-9) + fmt.Sprintf("~%08x", h.Sum32())
}

// prose cleans what is said in words.
func prose(s string) string { return say.Cut(say.Clean(s), mostProse) }
