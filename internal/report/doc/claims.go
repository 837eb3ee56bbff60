package doc

import "tare/internal/report/chart"

// Claims are published claims with what was found: those of one run, or those of several studies.
type Claims struct {
	Title    string // what was measured
	Measured string // how much of it
	Notes    []Note // what biases the run, the most important first
	Groups   []ClaimGroup
	Sentence string // how many hold
	Page     string // the file of the whole report; empty without one
	Command  string // what prints the whole report; empty without one
}

// ClaimGroup is the claims of a study. Run is the directory of the run that they were held against,
// and Text describes that run, or says how to make one. All but Text are of foreign origin.
type ClaimGroup struct {
	Study, Title, Run, Text string
	Rows                    []ClaimRow
}

// ClaimRow is a claim. Sign stands for the outcome where there are no drawings. Published and Found
// have their unit and interval.
type ClaimRow struct {
	ID, Claim, Source string
	Published, Found  string
	Tone              chart.Tone
	Sign, Outcome     string
	Reason            string
	Points            []ClaimPoint
	Differs           []string
}

// ClaimPoint is a part of a claim: a level of a load or a pair of an order.
type ClaimPoint struct {
	Label, Found string
	Tone         chart.Tone
	Outcome      string
}

// Values are the published value and the found one, in words; empty if neither is known.
func (r ClaimRow) Values() string {
	switch {
	case r.Published == "" && r.Found == "":
		return ""
	case r.Found == "":
		return "published: " + r.Published
	case r.Published == "":
		return "here: " + r.Found
	}
	return "published: " + r.Published + "; here: " + r.Found
}
