package study

import (
	"fmt"
	"strconv"
	"time"

	"tare/internal/study/quantity"
	"tare/internal/study/suggest"
)

// Stop is the stopping rule of a run. It uses the width of intervals, never p. It is
// evaluated between blocks, once there are MinBlocks, for each mode and workload, until
// the primary metrics are settled; then ExtraBlocks more blocks run. Study.Blocks is the
// maximum.
type Stop struct {
	MinBlocks          int
	Width, EffectWidth float64
	ExtraBlocks        int
}

// Fields declares the keys of a Stop and their rules.
func (s *Stop) Fields() []Field {
	return []Field{
		key("min_blocks", count(&s.MinBlocks, 2, mostBlocks), "blocks before the intervals are first checked"),
		key("width", fraction(&s.Width, 0.001, 0.5), "relative half-width of a ratio's 95 % interval at which it is settled, such as 0.025"),
		key("effect_width", fraction(&s.EffectWidth, 0.001, 0.5), "half-width as a share of the distance of the ratio from 1, both as logarithms, at which it is settled, too"),
		key("extra_blocks", count(&s.ExtraBlocks, 1, 100), "blocks to run after an interval is narrow enough"),
	}
}

// Least is the minimum number of blocks of a run that stops by s and has at most the
// given number.
func (s *Stop) Least(most int) int {
	if s == nil {
		return most
	}
	return min(most, s.MinBlocks+s.ExtraBlocks)
}

// Invalid contains the rules that make a trial invalid. They are fixed before the run: no
// trial is excluded because of its result.
type Invalid struct {
	Steal, Others, CPUWait quantity.Share
	Unsettled              string
	Most                   quantity.Share
}

// Fields declares the keys of an Invalid and their rules.
func (i *Invalid) Fields() []Field {
	return []Field{
		key("steal", share(&i.Steal), "maximum time taken by the hypervisor, as a share of one CPU"),
		key("others", share(&i.Others), "maximum CPU time of programs that are not part of the run, as a share of one CPU").
			flag("max-others", "", "maximum CPU time of other programs in a trial that runs alone, as a share of one CPU such as 0.1, or off"),
		key("cpu_wait", share(&i.CPUWait), "maximum time in which an endpoint of datagrams at a fixed rate had no CPU because of other programs or the hypervisor, as a share of the trial"),
		key("unsettled", choice(&i.Unsettled, On, Off), "on or off: whether a trial without a steady state is invalid"),
		key("most", share(&i.Most), "maximum share of invalid trials of a workload; with more it has no verdicts").with(DecidesPrecision),
	}
}

// Recreate says in which blocks the endpoints of a mode are recreated: in every n-th block,
// once, which keeps them for the whole run, or auto: in every block if that takes less
// than RecreateQuick, else in every RecreateSeldom-th. Its zero value means that the key is
// absent.
type Recreate struct {
	Every      int
	Once, Auto bool
}

// RecreateEvery recreates the endpoints every given number of blocks.
func RecreateEvery(blocks int) Recreate { return Recreate{Every: blocks} }

// RecreateOnce keeps the endpoints.
func RecreateOnce() Recreate { return Recreate{Once: true} }

// RecreateAuto decides by the time of their set-up.
func RecreateAuto() Recreate { return Recreate{Auto: true} }

const (
	// RecreateQuick is the maximum set-up time of a mode that RecreateAuto recreates in every
	// block.
	RecreateQuick = 2 * time.Second
	// RecreateSeldom is the number of blocks after which RecreateAuto recreates the other
	// modes.
	RecreateSeldom = 2

	onceWord = "once"

	recreatePattern = `^(once|auto)$`

	// AutoWord is the value for a choice that is left to tare.
	AutoWord = quantity.Auto
)

// Due reports whether a mode with the given set-up time is recreated before the block of
// that number, from 1 on. It is never recreated before the first.
func (r Recreate) Due(block int, takes time.Duration) bool {
	every := r.Every
	switch {
	case r.Auto && takes < RecreateQuick:
		every = 1
	case r.Auto:
		every = RecreateSeldom
	}
	return every > 0 && block > 1 && (block-1)%every == 0
}

// SetUps is how many of so many blocks each set-up has of a mode with the given set-up time.
func (r Recreate) SetUps(blocks int, takes time.Duration) []int {
	var sizes []int
	for block := 1; block <= blocks; block++ {
		if block == 1 || r.Due(block, takes) {
			sizes = append(sizes, 0)
		}
		sizes[len(sizes)-1]++
	}
	return sizes
}

// String writes r as a study file does.
func (r Recreate) String() string {
	switch {
	case r.Once:
		return onceWord
	case r.Auto:
		return AutoWord
	}
	return strconv.Itoa(r.Every)
}

// UnmarshalText reads once, auto or a whole number.
func (r *Recreate) UnmarshalText(text []byte) error {
	switch string(text) {
	case onceWord:
		*r = RecreateOnce()
		return nil
	case AutoWord:
		*r = RecreateAuto()
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || !quantity.Matches(`^(0|[1-9][0-9]*)$`, string(text)) {
		return fmt.Errorf("%s is not a number of blocks; write once, auto or a whole number", suggest.Quote(string(text)))
	}
	*r = RecreateEvery(n)
	return nil
}

func share(at *quantity.Share) Plain {
	return plainOf(at, form[quantity.Share]{
		unit: Unit{JSON: "number", Word: Off, want: "off, or a number from %s"},
		read: spelt[quantity.Share](TextLiteral, WholeLiteral, FractionLiteral),
		size: func(s quantity.Share) (float64, bool) { return s.Of, !s.Off },
		native: func(s quantity.Share) any {
			if s.Off {
				return Off
			}
			return s.Of
		},
	}, Rule{Min: 0.001, Max: 1})
}

func recreate(at *Recreate) Plain {
	return plainOf(at, form[Recreate]{
		unit: Unit{JSON: "integer", Spelling: recreatePattern, Digits: true, want: "once, auto, or a number of blocks, %s"},
		read: spelt[Recreate](TextLiteral, WholeLiteral),
		size: func(r Recreate) (float64, bool) { return float64(r.Every), !r.Once && !r.Auto }, native: numberOr[Recreate],
	}, Rule{Min: 1, Max: mostBlocks})
}
