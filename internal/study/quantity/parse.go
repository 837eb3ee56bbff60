package quantity

import (
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tare/internal/study/suggest"
)

// The patterns of the units. The JSON Schema contains the same patterns, so that an
// editor and Decode agree.
const (
	DurationPattern = `^([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+$|^0$`
	SizePattern     = `^(0|[1-9][0-9]*)(KiB|MiB|GiB)?$`
	BufferPattern   = `^auto$|` + SizePattern
	RatePattern     = `^([0-9]+(\.[0-9]+)?)([kKmMgG]?([bB][iI][tT](/[sS])?|bps))?$`

	SharePattern = `^off$|^[0-9]+(\.[0-9]+)?$`

	PassPattern = `^(auto|off)$|` + RatePattern

	LoadPattern = `^unlimited$|` + RatePattern

	// MaxText bounds the text of a quantity.
	MaxText = 40
)

type sizeUnit struct {
	name  string
	bytes int64
}

// sizeUnits lists the units of a size, the largest first.
func sizeUnits() []sizeUnit {
	return []sizeUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}
}

type rateUnit struct {
	name string
	bits uint64
}

// rateUnits lists the units of a rate, the largest first.
func rateUnits() []rateUnit {
	return []rateUnit{{"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}, {"bit/s", 1}}
}

// ParseDuration reads a duration with its unit.
func ParseDuration(text string) (Duration, error) {
	bad := fmt.Errorf("%s is not a duration; write a number and a unit, such as 1.5s or 300ms", suggest.Quote(text))
	if !Matches(DurationPattern, text) {
		return 0, bad
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, bad // too large for 64 bits
	}
	return Duration(d), nil
}

// ParseSize reads a number of bytes.
func ParseSize(text string) (Size, error) {
	bad := fmt.Errorf("%s is not a size; write bytes, or a whole number with KiB, MiB or GiB", suggest.Quote(text))
	if !Matches(SizePattern, text) {
		return 0, bad
	}
	for _, u := range sizeUnits() {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > math.MaxInt64/u.bytes {
			return 0, bad
		}
		return Size(n * u.bytes), nil
	}
	return 0, bad
}

// ParseRate reads a rate in bit/s.
func ParseRate(text string) (Rate, error) {
	bad := fmt.Errorf("%s is not a rate; write it as 1Gbit/s, 500Mbit/s or plain bit/s", suggest.Quote(text))
	if !Matches(RatePattern, text) {
		return 0, bad
	}
	digits := strings.TrimRight(text, "kKmMgGbBiItT/psS")
	unit := strings.TrimSuffix(strings.ToLower(text[len(digits):]), "/s")
	if prefix, ok := strings.CutSuffix(unit, "bps"); ok {
		unit = prefix + "bit"
	}
	scale := uint64(1)
	for _, u := range rateUnits() {
		if unit == strings.ToLower(strings.TrimSuffix(u.name, "/s")) {
			scale = u.bits
		}
	}
	// Exact, so that 1.1Gbit/s is exactly 1100000000.
	whole, fraction, _ := strings.Cut(digits, ".")
	n, err := strconv.ParseUint(whole, 10, 64)
	high, low := bits.Mul64(n, scale)
	for _, digit := range strings.TrimRight(fraction, "0") {
		if scale%10 != 0 {
			return 0, bad // less than 1 bit/s
		}
		scale /= 10
		var carry uint64
		low, carry = bits.Add64(low, uint64(digit-'0')*scale, 0)
		high += carry
	}
	if err != nil || high != 0 {
		return 0, bad
	}
	return Rate(low), nil
}

// Matches reports whether a quantity's text has the form of pattern.
func Matches(pattern, text string) bool {
	return utf8.RuneCountInString(text) <= MaxText && regexp.MustCompile(pattern).MatchString(text)
}
