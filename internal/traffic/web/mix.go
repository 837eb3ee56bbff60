package web

import (
	"math/rand/v2"
	"strconv"

	"tare/internal/study/quantity"
)

// mix are the sizes of a trial's responses. A request has the number of its size as its target.
type mix struct {
	sizes []quantity.Size
	order []uint8 // of the requests, again and again: numbers of sizes; nil for one size
}

// newMix returns the sizes with the order of requests, which is shuffled in the same way each time: whatever the number of flows, each
// has all sizes.
func newMix(all []quantity.Mixed) (m mix) {
	for i, one := range all {
		m.sizes = append(m.sizes, one.Size)
		for range one.Weight {
			m.order = append(m.order, uint8(i))
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(m.order), func(i, j int) { m.order[i], m.order[j] = m.order[j], m.order[i] })
	return m
}

// largest is the largest size.
func (m mix) largest() (most quantity.Size) {
	for _, size := range m.sizes {
		most = max(most, size)
	}
	return most
}

// mean is the mean size of as many responses as the order has.
func (m mix) mean() float64 {
	if m.order == nil {
		return float64(m.sizes[0])
	}
	var sum quantity.Size
	for _, of := range m.order {
		sum += m.sizes[of]
	}
	return float64(sum) / float64(len(m.order))
}

// target is that of requests for a size.
func (m mix) target(size int) string {
	if m.order == nil {
		return "/"
	}
	return "/" + strconv.Itoa(size)
}

// asked returns the number of the size that a target is for, -1 for none.
func (m mix) asked(target []byte) int {
	switch {
	case m.order == nil:
		return 0
	case len(target) != 2 || target[0] != '/' || int(target[1])-'0' >= len(m.sizes):
		return -1
	}
	return max(-1, int(target[1])-'0')
}

// choose gives a flow its next request.
func (s *httpSession) choose(f *httpFlow) {
	of := 0
	if n := len(s.t.mix.order); n > 0 {
		of = int(s.t.mix.order[s.turn%n])
		s.turn++
	}
	f.ask, f.want = &s.asks[of], s.t.mix.sizes[of]
}
