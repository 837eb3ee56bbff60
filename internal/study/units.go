package study

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration written as Go writes it: 1.5s, 300ms. Its zero
// value means that the key is absent; an explicit 0s is Zero. Read it with Std.
type Duration time.Duration

// Zero is a duration of 0s that somebody asked for, so that `warmup: 0s` is not
// taken for a key left out and filled with a default.
const Zero Duration = -1

// AtOnce is a slice that no trial is longer than.
const AtOnce = Duration(time.Hour)

// Std returns d as the standard library's type; Zero is 0.
func (d Duration) Std() time.Duration {
	if d == Zero {
		return 0
	}
	return time.Duration(d)
}

// String writes d as time.Duration does, less the zero minutes and seconds at
// the end: 10m rather than 10m0s.
func (d Duration) String() string {
	s := d.Std().String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes d as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration with units, such as 1.5s or 1m30s, or a plain
// 0. Negative durations are refused.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := parseDuration(string(text))
	if err == nil {
		*d = v
	}
	return err
}

// Size is a number of bytes, written plain or with KiB, MiB or GiB.
type Size int64

// String writes s with the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits() {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return "0"
}

// MarshalText writes s as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads 1400, 128KiB, 2MiB or 1GiB.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := parseSize(string(text))
	if err == nil {
		*s = v
	}
	return err
}

// BufferSize is a socket buffer in bytes, or Auto.
type BufferSize int64

// Auto leaves a socket buffer to the kernel's autotuning.
const Auto BufferSize = -1

// String writes b as a Size, or auto.
func (b BufferSize) String() string {
	if b == Auto {
		return "auto"
	}
	return Size(b).String()
}

// MarshalText writes b as String does.
func (b BufferSize) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads a size or auto.
func (b *BufferSize) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*b = Auto
		return nil
	}
	v, err := parseSize(string(text))
	if err != nil {
		return fmt.Errorf("%w, or auto", err)
	}
	*b = BufferSize(v)
	return nil
}

// Rate is in bit/s, written with bit/s, kbit/s, Mbit/s or Gbit/s.
type Rate uint64

// String writes r with the largest unit that divides it.
func (r Rate) String() string {
	for _, u := range rateUnits() {
		if r != 0 && uint64(r)%u.bits == 0 {
			return strconv.FormatUint(uint64(r)/u.bits, 10) + u.name
		}
	}
	return "0bit/s"
}

// MarshalText writes r as String does.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads 1Gbit/s, 1.5gbit, 500Mbit/s, or plain bit/s. The case of
// the unit does not matter and "/s" may be left out.
func (r *Rate) UnmarshalText(text []byte) error {
	v, err := parseRate(string(text))
	if err == nil {
		*r = v
	}
	return err
}

// Load is an offered load in payload bit/s, or Unlimited.
type Load uint64

// Unlimited asks for as much as the generator can send.
const Unlimited Load = math.MaxUint64

// String writes l as a Rate, or unlimited.
func (l Load) String() string {
	if l == Unlimited {
		return "unlimited"
	}
	return Rate(l).String()
}

// MarshalText writes l as String does.
func (l Load) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a rate or unlimited.
func (l *Load) UnmarshalText(text []byte) error {
	if string(text) == "unlimited" {
		*l = Unlimited
		return nil
	}
	v, err := parseRate(string(text))
	if err != nil {
		return fmt.Errorf("%w, or unlimited", err)
	}
	*l = Load(v)
	return nil
}
