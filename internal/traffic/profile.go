package traffic

// ProfileParts is the number of parts into which the time of a slice is divided: one for each round trip that
// the shortest slice of a path lasts.
const ProfileParts = 50

// Profile is how the rate of a trial's slices develops after their beginning, where caches still hold data of
// another mode and TCP its slow start.
type Profile struct {
	Slices int `json:"slices"`
	// Parts is what all slices transferred in each of ProfileParts equal parts of their time, the uncounted
	// ones included: payload bytes or exchanges.
	Parts []int64 `json:"parts"`
	// Of each slice, the mean of the last half of its counted parts minus that of the first quarter: the sum
	// over the slices, and that of the squares.
	Rise    float64 `json:"rise"`
	Squares float64 `json:"squares"`
}

// profileOf is the profile of one slice, whose connections counters have counted; nil if that was no slice.
func profileOf(counters []*BinCounter) *Profile {
	p := Profile{Slices: 1, Parts: make([]int64, ProfileParts)}
	for _, b := range counters {
		if b.Parts == nil {
			return nil
		}
		for i, n := range b.Parts {
			p.Parts[i] += n
		}
	}
	const uncounted = ProfileParts / SliceWarmup
	const quarter = (ProfileParts - uncounted) / 4
	p.Rise = meanOf(p.Parts[ProfileParts-2*quarter:]) - meanOf(p.Parts[uncounted:uncounted+quarter])
	p.Squares = p.Rise * p.Rise
	return &p
}

// Plus returns the profile of the slices of both. A nil profile has none.
func (p *Profile) Plus(q *Profile) *Profile {
	switch {
	case p == nil:
		return q
	case q == nil || len(q.Parts) != len(p.Parts):
		return p
	}
	sum := Profile{p.Slices + q.Slices, make([]int64, len(p.Parts)), p.Rise + q.Rise, p.Squares + q.Squares}
	for i := range sum.Parts {
		sum.Parts[i] = p.Parts[i] + q.Parts[i]
	}
	return &sum
}

func meanOf(parts []int64) (mean float64) {
	for _, n := range parts {
		mean += float64(n) / float64(len(parts))
	}
	return mean
}

// AddProfile adds the profile of the slice that counters have counted.
func (w *Window) AddProfile(counters ...*BinCounter) {
	if len(counters) > 0 {
		w.Profile = w.Profile.Plus(profileOf(counters))
	}
}
