package observe

// coreIdle adds up the idle ticks of each CPU within a window. A CPU whose idle time is
// not known leaves all of them unknown: nobody knows which was the fullest.
func (s *Spent) coreIdle(from, to *cpuSample) {
	for _, f := range cpuFigures() {
		if f.name != "idle" {
			continue
		}
		for i := range from.cpus {
			before, known := from.cpus[i].sum(f.columns)
			after, stillKnown := to.cpus[i].sum(f.columns)
			if !known || !stillKnown || after+jitter < before {
				s.lose(fullest, "the idle time of a CPU is unknown")
				return
			}
			if s.cores == nil {
				s.cores = map[int]int64{}
			}
			s.cores[to.cpus[i].id] += int64(after - before) //nolint:gosec // two's complement: a step back of jitter is negative
		}
	}
}

const fullest = "fullest"

// Fullest is the share (0..1) of the windows in which the fullest CPU was not idle,
// steal included: at 1 its work is all that it can do, however idle the others are.
// False where it is not known. The kernel tells idle time in steps of 10 ms, so that of
// windows shorter than a second it is rough.
func (s Spent) Fullest() (share float64, known bool) {
	_, all := s.gaps[""]
	_, cores := s.gaps[fullest]
	if all || cores || len(s.cores) == 0 || s.long <= 0 {
		return 0, false
	}
	for _, idle := range s.cores {
		share = max(share, 1-float64(idle)/ticksPerSecond/s.long.Seconds())
	}
	return min(1, share), true
}
