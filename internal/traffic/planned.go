package traffic

// Planned is a workload that is known and not built yet. A study may name it: it is
// left out of the trials, with the reason, and the study stays as it is when the
// workload lands.
type Planned struct{ Kind, Why string }

// PlannedWorkloads lists them; there are none now. Whoever builds one takes its line away.
func PlannedWorkloads() []Planned {
	return nil
}

// IsPlanned gives the reason why a workload of this kind cannot be driven yet, and
// whether it is one of those.
func IsPlanned(kind string) (why string, planned bool) {
	for _, p := range PlannedWorkloads() {
		if p.Kind == kind {
			return p.Why, true
		}
	}
	return "", false
}
