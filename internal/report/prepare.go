package report

// Prepared is a report that was worked out once, to be written in several forms: of a
// run with very many trials that takes longer than writing it.
type Prepared struct{ view view }

// Prepare works out a report.
func Prepare(in Input) Prepared { return Prepared{newView(in)} }
