package result

// Superseded returns a function that reports whether a trial no longer counts because its
// set, all modes with a workload in a block, was repeated: the second outcome is final
// for each mode. A pair with one trial of each would be too far apart in time.
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
		return len(again) > 0 && !t.Requeued && t.TailRate == 0 && again[set{t.Block, t.Workload}]
	}
}
