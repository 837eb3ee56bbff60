package quantity

import (
	"fmt"
	"strconv"

	"tare/internal/study/suggest"
)

// Portion is a share, 0 to 1. Its zero value means that the key is absent.
type Portion struct {
	Of    float64
	Given bool
}

// PortionOf is a share of x, which may be 0.
func PortionOf(x float64) Portion { return Portion{x, true} }

// String writes p as a plain number.
func (p Portion) String() string { return plainNumber(p.Of) }

// MarshalText writes p as String does.
func (p Portion) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a plain number of 0 or more.
func (p *Portion) UnmarshalText(text []byte) error {
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(x >= 0 && x <= 1) {
		return fmt.Errorf("%s is not a share; write a number from 0 to 1, such as 0.5", suggest.Quote(string(text)))
	}
	*p = PortionOf(x)
	return nil
}

// Share is a share above 0, or off for a rule that is not applied. Its zero value means
// that the key is absent.
type Share struct {
	Of  float64
	Off bool
}

// ShareOf is a share of x.
func ShareOf(x float64) Share { return Share{Of: x} }

// NotApplied is the share of a rule that is disabled.
func NotApplied() Share { return Share{Off: true} }

// On reports whether the rule is applied.
func (s Share) On() bool { return s.Of > 0 }

// String writes a share as a plain number, or off.
func (s Share) String() string {
	if s.Off {
		return Off
	}
	return plainNumber(s.Of)
}

// UnmarshalText reads a plain number or off.
func (s *Share) UnmarshalText(text []byte) error {
	if string(text) == Off {
		*s = NotApplied()
		return nil
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !Matches(SharePattern, string(text)) {
		return fmt.Errorf("%s is not a share; write a number such as 0.02, or off", suggest.Quote(string(text)))
	}
	*s = ShareOf(x)
	return nil
}

func plainNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
