package result

// Superseded tells which trials no longer count because their set, all modes with
// a workload in a block, was run once more: of the two outcomes the second stands,
// for each mode. A pair of one from each would lie too far apart in time.
func Superseded(trials []Trial) func(*Trial) bool {
	type set struct {
		block    int
		workload string
	}
	again := map[set]bool{}
	for i := range trials {
		if t := &trials[i]; t.Requeued {
			again[set{t.Block, t.Workload}] = true
		}
	}
	return func(t *Trial) bool {
		return len(again) > 0 && !t.Requeued && again[set{t.Block, t.Workload}]
	}
}
