package history

import (
	"fmt"
	"reflect"
)

// maxRatios is the maximum number of ratios of all runs of a history, which keeps it below 256 MB: 10 000 runs of
// the standard profile have as many.
const maxRatios = 400_000

// Kept are the runs of a history, each with only what a history needs of it. The zero value takes the metrics that
// [Counts] names; a history of them is of the same metrics.
type Kept struct {
	Metrics []string
	runs    []Run
	keys    map[seriesKey]seriesKey // so that the texts of a series are in memory once
	ratios  int
}

// Add keeps a run. Error: all runs together have too many ratios.
func (k *Kept) Add(r Run) error {
	found := points(r, k.Metrics)
	if k.ratios += len(found); k.ratios > maxRatios {
		return fmt.Errorf("the runs have more than %d ratios: leave out earlier runs, or choose fewer metrics", maxRatios)
	}
	if k.keys == nil {
		k.keys = map[seriesKey]seriesKey{}
	}
	for i, p := range found {
		same, known := k.keys[p.key]
		if !known {
			same = p.key
			k.keys[same] = same
		}
		found[i].key = same
	}
	r.kept, r.Run.Cells = &found, nil
	if n := len(k.runs); n > 0 { // facts hardly ever change
		last := k.runs[n-1].Run
		if reflect.DeepEqual(last.Hosts, r.Run.Hosts) {
			r.Run.Hosts = last.Hosts
		}
		if reflect.DeepEqual(last.Modes, r.Run.Modes) {
			r.Run.Modes = last.Modes
		}
	}
	k.runs = append(k.runs, r)
	return nil
}

// Runs returns them in the order in which they were added.
func (k *Kept) Runs() []Run { return k.runs }
