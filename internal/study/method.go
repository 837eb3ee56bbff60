package study

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	yaml "go.yaml.in/yaml/v3"
)

// Stop ends a run by the width of its intervals, never by p: looked at between
// blocks, once there are MinBlocks, until each primary figure of each mode is settled,
// and then ExtraBlocks more. Study.Blocks stays the most.
type Stop struct {
	MinBlocks   int     `yaml:"min_blocks,omitempty" json:"min_blocks,omitempty" jsonschema:"blocks before the intervals are looked at for the first time"`
	Width       float64 `yaml:"width,omitempty" json:"width,omitempty" jsonschema:"half-width of a ratio's 95 % interval that is narrow enough, relative, such as 0.025"`
	ExtraBlocks int     `yaml:"extra_blocks,omitempty" json:"extra_blocks,omitempty" jsonschema:"blocks after all intervals are narrow enough"`
}

// Least is the number of blocks that a run has at least that stops by s and has at
// most so many.
func (s *Stop) Least(most int) int {
	if s == nil {
		return most
	}
	return min(most, s.MinBlocks+s.ExtraBlocks)
}

// Invalid holds the rules by which a trial is ruled out. They are fixed before the
// run: nothing is ruled out for its result.
type Invalid struct {
	Steal     Share  `yaml:"steal,omitempty" json:"steal,omitempty" jsonschema:"time that the hypervisor took, as a share of one CPU"`
	Others    Share  `yaml:"others,omitempty" json:"others,omitempty" jsonschema:"CPU time of programs that are not part of the run, as a share of one CPU"`
	Unsettled string `yaml:"unsettled,omitempty" json:"unsettled,omitempty" jsonschema:"on or off: whether a trial is ruled out that never came to a steady state"`
	Most      Share  `yaml:"most,omitempty" json:"most,omitempty" jsonschema:"share of the trials that may be invalid; with more the run can tell nothing"`
}

// Share is a part of a whole, above 0; its zero value is an absent one.
type Share float64

// NotApplied is the share of a rule that is switched off.
const NotApplied Share = -1

// On reports whether there is a share to hold to.
func (s Share) On() bool { return s > 0 }

// String writes a share as a plain number, or off.
func (s Share) String() string {
	if s == NotApplied {
		return Off
	}
	return strconv.FormatFloat(float64(s), 'f', -1, 64)
}

// MarshalText writes s as String does.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON writes a number as a number.
func (s Share) MarshalJSON() ([]byte, error) {
	if s == NotApplied {
		return json.Marshal(Off)
	}
	return []byte(s.String()), nil
}

// MarshalYAML writes a number unquoted.
func (s Share) MarshalYAML() (any, error) {
	if s == NotApplied {
		return Off, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: s.String()}, nil
}

// UnmarshalText reads a plain number or off.
func (s *Share) UnmarshalText(text []byte) error {
	if string(text) == Off {
		*s = NotApplied
		return nil
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !matches(sharePattern, string(text)) {
		return fmt.Errorf("%s is not a share; write a number such as 0.02, or off", quote(string(text)))
	}
	*s = Share(x)
	return nil
}

// Renew says in how many blocks the endpoints of a mode are made anew: RenewOnce,
// RenewAuto, or every so many blocks.
type Renew int

const (
	// RenewOnce keeps the endpoints for the whole run.
	RenewOnce Renew = -1
	// RenewAuto makes them anew in every block where that takes less than RenewQuick,
	// else in every RenewSeldom-th.
	RenewAuto Renew = -2

	// RenewQuick is how long a mode may take to be made that RenewAuto makes anew in
	// every block.
	RenewQuick = 2 * time.Second
	// RenewSeldom is in every how many blocks it makes the others anew.
	RenewSeldom = 3

	onceWord = "once"
	// AutoWord is the value of what tare chooses, or does where it can.
	AutoWord = "auto"
)

// Due reports whether a mode that takes so long to be made is made anew before the
// block of that number, from 1 on. It never is before the first.
func (r Renew) Due(block int, takes time.Duration) bool {
	every := int(r)
	switch {
	case r == RenewAuto && takes < RenewQuick:
		every = 1
	case r == RenewAuto:
		every = RenewSeldom
	}
	return every > 0 && block > 1 && (block-1)%every == 0
}

// String writes r as a study file has it.
func (r Renew) String() string {
	switch r {
	case RenewOnce:
		return onceWord
	case RenewAuto:
		return AutoWord
	}
	return strconv.Itoa(int(r))
}

// MarshalText writes r as String does.
func (r Renew) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// MarshalYAML writes a plain number unquoted.
func (r Renew) MarshalYAML() (any, error) { return bare(r.String()), nil }

// UnmarshalText reads once, auto or a whole number.
func (r *Renew) UnmarshalText(text []byte) error {
	switch string(text) {
	case onceWord:
		*r = RenewOnce
		return nil
	case AutoWord:
		*r = RenewAuto
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || !matches(`^(0|[1-9][0-9]*)$`, string(text)) {
		return fmt.Errorf("%s is not a number of blocks; write once, auto or a whole number", quote(string(text)))
	}
	*r = Renew(n)
	return nil
}

// In reports whether the workload is driven in the block of that number, from 1 on.
func (w Workload) In(block int) bool {
	every := max(1, w.Every)
	nth := (block - 1) / every
	return (block-1)%every == 0 && (w.Times == 0 || nth < w.Times)
}
