package drops

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tare/internal/result"
)

// aggregate converts counts to the names of reasons and functions.
func (w *Watcher) aggregate(counts map[dropsKey]uint64) []result.DropReason {
	sums := map[result.DropReason]uint64{} // by all fields except the count
	for k, n := range counts {
		d := result.DropReason{Reason: reasonName(w.reasons, k.Reason), Location: w.symbols[k.Location]}
		if !harmless(d.Reason, d.Location) {
			sums[d] += n
		}
	}
	var out []result.DropReason
	for d, n := range sums {
		d.Count = int64(n) //nolint:gosec // packets
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b result.DropReason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Location, b.Location))
	})
	return out
}

// locate looks up the names of functions that are not in the cache.
func (w *Watcher) locate(keys []dropsKey) error {
	var unknown []uint64
	for _, k := range keys {
		if _, ok := w.symbols[k.Location]; !ok {
			unknown = append(unknown, k.Location)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	// Without the names the reasons are still usable.
	names := map[uint64]string{}
	if f, err := os.Open(filepath.Join(w.procRoot, "kallsyms")); err == nil {
		defer f.Close()
		if names, err = symbolise(f, unknown); err != nil {
			return fmt.Errorf("read the names of the kernel's functions: %w", err)
		}
	}
	for _, a := range unknown {
		w.symbols[a] = names[a]
	}
	return nil
}
