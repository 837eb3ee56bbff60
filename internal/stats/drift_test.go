package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/testkit/must"
)

// session is one simulated session of modes that are all alike, on a machine whose
// speed changes: slot after slot, each slot one trial.
type session struct {
	rng    *rand.Rand
	blocks int
	modes  int // with the baseline, which is mode 0
	speed  func(slot, slots int) float64
}

const slotNoise = 0.02

// order says which mode has each slot.
type order func(s session, slot int) int

// inBlocks holds every mode once a block, freshly shuffled, as a plan does.
func inBlocks() order {
	var perm []int
	return func(s session, slot int) int {
		if slot%s.modes == 0 {
			perm = s.rng.Perm(s.modes)
		}
		return perm[slot%s.modes]
	}
}

// oneAfterTheOther is AAAA BBBB.
func oneAfterTheOther(s session, slot int) int { return slot / s.blocks }

// always is AB AB AB AB.
func always(s session, slot int) int { return slot % s.modes }

// falsely is how often a difference is claimed, of one comparison and of any. Each
// value of a mode is paired with the baseline's of the same number.
func (s session) falsely(t *testing.T, by func() order) (one, any float64) {
	t.Helper()
	slots := s.blocks * s.modes
	for range reps {
		values := make([][]float64, s.modes)
		pick := by()
		for slot := range slots {
			m := pick(s, slot)
			values[m] = append(values[m], s.speed(slot, slots)*math.Exp(slotNoise*s.rng.NormFloat64()))
		}
		ls, ps := make([]LogRatio, s.modes-1), make([]float64, s.modes-1)
		for i := range ls {
			l := must.Get(Paired(values[i+1], values[0]))(t)
			ls[i], ps[i] = l, l.P()
		}
		claimed := 0
		for i, p := range Holm(ps) {
			if a := Decide(ls[i], p, 0.05); a == Different || a == Small {
				claimed++
			}
		}
		one += float64(claimed) / float64(len(ls)) / reps
		if claimed > 0 {
			any += 1.0 / reps
		}
	}
	return one, any
}

func linear(slot, slots int) float64 { return 1 - 0.1*float64(slot)/float64(slots-1) }

func neighbour(slot, slots int) float64 {
	if slot >= slots*45/100 {
		return 0.9
	}
	return 1
}

// Method 5, item 3: a machine that slows down by 10 % over the session, a neighbour
// that starts in the middle, a disturbance that comes back once a block. In shuffled
// blocks nothing of it is taken for a difference; in AAAA BBBB order most of it is,
// which shows that the simulator bites.
func TestDrift(t *testing.T) {
	for _, c := range []struct {
		name  string
		speed func(modes int) func(slot, slots int) float64
	}{
		{"drift", func(int) func(int, int) float64 { return linear }},
		{"step", func(int) func(int, int) float64 { return neighbour }},
		{"once a block", func(modes int) func(int, int) float64 {
			return func(slot, _ int) float64 {
				return 1 + 0.03*math.Cos(2*math.Pi*float64(slot)/float64(modes))
			}
		}},
	} {
		for _, modes := range []int{2, 6} {
			s := session{rand.New(rand.NewPCG(3, uint64(modes))), 10, modes, c.speed(modes)}
			one, any := s.falsely(t, inBlocks)
			inRange(t, c.name+", shuffled blocks: false claims", one, 0, 0.06)
			inRange(t, c.name+", shuffled blocks: sessions with any", any, 0, 0.06)
			bad, why := order(oneAfterTheOther), ", AAAA BBBB: sessions with a false claim"
			if c.name == "once a block" { // it averages out in long stretches, but not in a fixed order
				bad, why = always, ", ABAB: sessions with a false claim"
			}
			_, any = s.falsely(t, func() order { return bad })
			inRange(t, c.name+why, any, 0.50, 1)
		}
	}
}
