package published

import (
	"strconv"
	"strings"

	"tare/internal/study/quantity"
	"tare/internal/unit"
)

// Level is one value of a workload's sweep: an offered rate in bit/s, or a number of flows or
// streams. Key is that of the workload that has the list: rates, flows or streams; empty for a number
// that may be any.
type Level struct {
	Key   string
	Value float64
}

// String writes the level as in the names of results: 200Mbit/s, 16flows.
func (l Level) String() string {
	if l.Key == "rates" {
		return quantity.Rate(l.Value).String()
	}
	return strconv.FormatFloat(l.Value, 'f', -1, 64) + l.Key
}

// Label writes the level for a reader: 200 Mbit/s, 16 flows.
func (l Level) Label() string {
	if l.Key == "flows" || l.Key == "streams" {
		return unit.Count(int(l.Value), strings.TrimSuffix(l.Key, "s"), l.Key)
	}
	text := l.String()
	for i, c := range text {
		if (c < '0' || c > '9') && c != '.' {
			return text[:i] + " " + text[i:]
		}
	}
	return text
}

// sort reports whether the level is of the same sort as another one.
func (l Level) sort(other Level) bool { return l.Key == "" || l.Key == other.Key }
