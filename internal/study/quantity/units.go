// Package quantity reads and writes the quantities of studies: durations, sizes, rates and shares.
package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The words in place of a quantity.
const (
	Auto = "auto"
	Off  = "off"
)

// Duration is a time.Duration written as Go writes it: 1.5s, 300ms. Its zero
// value means that the key is absent; a key that takes 0s holds a Wait.
type Duration time.Duration

// AtOnce is a slice longer than any trial.
const AtOnce = Duration(time.Hour)

// Std returns d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes d like time.Duration, without zero minutes and seconds at the end: 10m,
// not 10m0s.
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
	v, err := ParseDuration(string(text))
	if err == nil {
		*d = v
	}
	return err
}

// Wait is a duration that may be 0s. Its zero value means that the key is absent.
type Wait struct {
	For   Duration
	Given bool
}

// WaitOf is a wait of d, which may be 0.
func WaitOf(d time.Duration) Wait { return Wait{Duration(d), true} }

// Std returns w as the standard library's type; 0 for an absent one.
func (w Wait) Std() time.Duration { return w.For.Std() }

// AtLeast is the larger of w and least.
func (w Wait) AtLeast(least Duration) Wait { return WaitOf(max(w.For, least).Std()) }

// String writes w as a Duration.
func (w Wait) String() string { return w.For.String() }

// MarshalText writes w as String does.
func (w Wait) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads a Duration.
func (w *Wait) UnmarshalText(text []byte) error {
	d, err := ParseDuration(string(text))
	if err == nil {
		*w = Wait{d, true}
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
	v, err := ParseSize(string(text))
	if err == nil {
		*s = v
	}
	return err
}

// BufferSize is the size of a socket buffer: a number of bytes, or the kernel's
// autotuning. Its zero value means that the key is absent.
type BufferSize struct {
	Bytes Size
	Auto  bool
}

// Buffer is a socket buffer of the given size.
func Buffer(bytes Size) BufferSize { return BufferSize{Bytes: bytes} }

// AutoBuffer is a socket buffer sized by the kernel.
func AutoBuffer() BufferSize { return BufferSize{Auto: true} }

// Socket is the size in bytes that a socket is to have, -1 to leave it to the kernel.
func (b BufferSize) Socket() int {
	if b.Auto {
		return -1
	}
	return int(b.Bytes)
}

// String writes b as a Size, or auto.
func (b BufferSize) String() string {
	if b.Auto {
		return Auto
	}
	return b.Bytes.String()
}

// MarshalText writes b as String does.
func (b BufferSize) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads a size or auto.
func (b *BufferSize) UnmarshalText(text []byte) error {
	if string(text) == Auto {
		*b = AutoBuffer()
		return nil
	}
	v, err := ParseSize(string(text))
	if err != nil {
		return fmt.Errorf("%w, or auto", err)
	}
	*b = Buffer(v)
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

// UnmarshalText reads 1Gbit/s, 1.5gbit, 500Mbit/s, 500Mbps, or plain bit/s. The case of
// the unit does not matter, but for the b of bps, and "/s" may be left out.
func (r *Rate) UnmarshalText(text []byte) error {
	v, err := ParseRate(string(text))
	if err == nil {
		*r = v
	}
	return err
}

// Load is an offered load in payload bit/s, or Unlimited.
type Load uint64

// Unlimited means the maximum that the generator can send.
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
	v, err := ParseRate(string(text))
	if err != nil {
		return fmt.Errorf("%w, or unlimited", err)
	}
	*l = Load(v)
	return nil
}

// PassRate is the payload in bit/s that a pass offers, or PassAuto or NoPass.
type PassRate uint64

const (
	// PassAuto lets the run choose the rate after it has measured each mode.
	PassAuto PassRate = math.MaxUint64
	// NoPass disables the pass.
	NoPass PassRate = math.MaxUint64 - 1
)

// String writes r as a Rate, auto or off.
func (r PassRate) String() string {
	switch r {
	case PassAuto:
		return Auto
	case NoPass:
		return Off
	}
	return Rate(r).String()
}

// UnmarshalText reads a rate, auto or off.
func (r *PassRate) UnmarshalText(text []byte) error {
	switch string(text) {
	case Auto:
		*r = PassAuto
		return nil
	case Off:
		*r = NoPass
		return nil
	}
	v, err := ParseRate(string(text))
	if err != nil {
		return fmt.Errorf("%w, or auto, or off", err)
	}
	*r = PassRate(v)
	return nil
}
