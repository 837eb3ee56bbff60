package study

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tare/internal/study/quantity"
	"tare/internal/study/suggest"
)

// MaxSeed is the largest seed: what a JSON reader keeps exactly (2^53-1).
const MaxSeed = 1<<53 - 1

// Rule defines the valid values of a plain value. Checks, error texts and the JSON Schema
// all use it.
type Rule struct {
	Unit
	Min, Max float64  // of a number, in its base unit: bytes, bit/s, ns; no bounds if Max is 0
	Enum     []string // of a text
	Pattern  string   // of a text
	Words    string   // description of the pattern for error texts
	Runes    int      // maximum length of a text
	Name     bool     // the validator checks the text: it is one of the study's own names
	Target   bool     // the catalog may accept names that do not match the pattern
}

// Unit describes how the values of a type are written, for error texts and the JSON
// Schema.
type Unit struct {
	JSON     string // type of a plain value in JSON; empty for one that is only written as text
	Spelling string // pattern of a value that is written as text, empty if there is none
	Word     string // the one word that is valid besides numbers without a Spelling
	Digits   bool   // numbers consist of plain digits only
	Number   bool   // a text may also be written as a number
	want     string // with %s for the range
	show     func(x float64) string
}

func plainNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Span is the range of valid values, in the unit's own notation.
func (r Rule) Span() string {
	show := r.show
	if show == nil {
		show = plainNumber
	}
	return show(r.Min) + " to " + show(r.Max)
}

// Want describes the valid values of the rule, for the second half of an error.
func (r Rule) Want() string {
	switch {
	case len(r.Enum) > 0:
		return suggest.Either(r.Enum)
	case r.want == "":
		return r.Words
	}
	return strings.ReplaceAll(r.want, "%s", r.Span())
}

// allows reports whether a text conforms to the rule.
func (r Rule) allows(s string) bool {
	if len(r.Enum) > 0 {
		return slices.Contains(r.Enum, s)
	}
	if r.Runes > 0 && utf8.RuneCountInString(s) > r.Runes {
		return false
	}
	return utf8.ValidString(s) && regexp.MustCompile(r.Pattern).MatchString(s)
}

// Literal is a plain value as written in a file.
type Literal struct {
	Kind LiteralKind
	Text string
}

// LiteralKind is the type that the file gives a literal.
type LiteralKind int

// The kinds of literals. No key accepts an OtherLiteral.
const (
	OtherLiteral LiteralKind = iota
	TextLiteral
	WholeLiteral
	FractionLiteral
	TruthLiteral
)

// form describes how values of a type are read and written.
type form[T comparable] struct {
	unit Unit
	// read accepts only the exact notation: 010, 1_000 and 1e3 are not whole numbers
	// here, because YAML readers disagree about them.
	read func(at *T, l Literal) bool
	// size is the value in its base unit, false for a word without a number.
	size   func(T) (float64, bool)
	native func(T) any
}

// plain is a value with its rule.
type plain[T comparable] struct {
	held[T]
	rule Rule
	form form[T]
}

func plainOf[T comparable](at *T, f form[T], r Rule) Plain {
	r.Unit = f.unit
	return plain[T]{held[T]{at}, r, f}
}

func (p plain[T]) IsZero() bool        { var zero T; return *p.at == zero }
func (p plain[T]) Rule() Rule          { return p.rule }
func (p plain[T]) Want(string) string  { return p.rule.Want() }
func (p plain[T]) Read(l Literal) bool { return p.form.read(p.at, l) }
func (p plain[T]) Native() any         { return p.form.native(*p.at) }

func (p plain[T]) amount() float64 { x, _ := p.form.size(*p.at); return x }

// above reports whether a is greater than b, which has the same type.
func above(a, b Plain) bool {
	type amount interface{ amount() float64 }
	return a.(amount).amount() > b.(amount).amount()
}

func (p plain[T]) String() string {
	if b, is := any(*p.at).(*bool); is && b != nil {
		return fmt.Sprint(*b)
	}
	return p.held.String()
}

func (p plain[T]) Check(key string) string {
	shown, ok := p.String(), true
	if text, is := any(*p.at).(string); is {
		shown, ok = suggest.Quote(text), p.rule.allows(text)
	} else if x, number := p.form.size(*p.at); number && p.rule.Max > 0 {
		ok = p.rule.Min <= x && x <= p.rule.Max
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("%s is %s; want %s", key, shown, p.rule.Want())
}

// spelt reads what UnmarshalText accepts, of these kinds of literals.
func spelt[T any, P interface {
	*T
	UnmarshalText(text []byte) error
}](kinds ...LiteralKind) func(*T, Literal) bool {
	return func(at *T, l Literal) bool {
		return slices.Contains(kinds, l.Kind) && P(at).UnmarshalText([]byte(l.Text)) == nil
	}
}

func same[T any](v T) any { return v }

func textOf[T fmt.Stringer](v T) any { return v.String() }

// numberOr returns a whole number as a number and a word as text.
func numberOr[T fmt.Stringer](v T) any {
	if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
		return n
	}
	return v.String()
}

// Decimal reports whether text is a whole number in JSON notation.
func Decimal(text string) bool {
	return regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`).MatchString(text)
}

func number[T int | uint64 | float64 | quantity.Duration | quantity.Size](v T) (float64, bool) {
	return float64(v), true
}

func none[T any](T) (float64, bool) { return 0, false }

// The constructors of plain values. Each takes the location of the value and the rule.

func text(at *string, pattern, words string, runes int) Plain {
	return textBy(at, Rule{Pattern: pattern, Words: words, Runes: runes})
}

func choice(at *string, enum ...string) Plain { return textBy(at, Rule{Enum: enum}) }

// nameOf is a name that the validator checks.
func nameOf(at *string) Plain { return textBy(at, Rule{Words: "a name", Name: true}) }

func textBy(at *string, r Rule) Plain {
	return plainOf(at, textForm(), r)
}

func textForm() form[string] {
	return form[string]{
		unit:   Unit{JSON: "string"},
		read:   func(at *string, l Literal) bool { *at = l.Text; return l.Kind == TextLiteral },
		size:   none[string],
		native: same[string],
	}
}

func idText(at *string) Plain {
	return text(at, `^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`, "1 to 64 letters, digits, _, . or -, starting with a letter or digit", 0)
}

func nameText(at *string) Plain {
	return text(at, `^[a-z0-9][a-z0-9_.-]{0,63}$`, "1 to 64 lower-case letters, digits, _, . or -, starting with a letter or digit", 0)
}

func titleText(at *string) Plain {
	return text(at, `^[^\x00-\x1f\x7f-\x9f]*$`, "one line of at most 200 characters without control characters", 200)
}

func descriptionText(at *string) Plain {
	return text(at, `^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$`, "at most 5000 characters without control characters", 5000)
}

func truth(at *bool) Plain {
	return plainOf(at, form[bool]{
		unit:   Unit{JSON: "boolean", want: "true or false"},
		read:   func(at *bool, l Literal) bool { *at = isTrue(l); return l.Kind == TruthLiteral },
		size:   none[bool],
		native: same[bool],
	}, Rule{})
}

func isTrue(l Literal) bool { return strings.EqualFold(l.Text, "true") }

func count(at *int, least, most float64) Plain {
	return plainOf(at, form[int]{
		unit: wholeUnit(),
		read: func(at *int, l Literal) bool {
			n, err := strconv.ParseInt(l.Text, 10, 64)
			*at = int(n)
			return l.Kind == WholeLiteral && err == nil && Decimal(l.Text) && int64(*at) == n
		},
		size: number[int], native: same[int],
	}, Rule{Min: least, Max: most})
}

func wholeUnit() Unit { return Unit{JSON: "integer", Digits: true, want: "a whole number from %s"} }

func seed(at *uint64) Plain {
	return plainOf(at, form[uint64]{
		unit: wholeUnit(),
		read: func(at *uint64, l Literal) bool {
			n, err := strconv.ParseUint(l.Text, 10, 64)
			*at = n
			return l.Kind == WholeLiteral && err == nil && Decimal(l.Text)
		},
		size: number[uint64], native: same[uint64],
	}, Rule{Min: 1, Max: MaxSeed})
}

func fraction(at *float64, least, most float64) Plain {
	return plainOf(at, fractions(), Rule{Min: least, Max: most})
}

func fractions() form[float64] {
	return form[float64]{
		unit: Unit{JSON: "number", want: "a number from %s"},
		read: func(at *float64, l Literal) bool {
			x, err := strconv.ParseFloat(l.Text, 64)
			*at = x
			return (l.Kind == WholeLiteral || l.Kind == FractionLiteral) && err == nil && x == x
		},
		size: number[float64], native: same[float64],
	}
}

func durationUnit() Unit {
	return Unit{Spelling: quantity.DurationPattern, want: "a duration of %s, written with its unit, such as 1.5s", show: func(x float64) string { return quantity.Duration(x).String() }}
}

func duration(at *quantity.Duration, least, most time.Duration) Plain {
	return plainOf(at, form[quantity.Duration]{
		unit: durationUnit(), read: spelt[quantity.Duration](TextLiteral, WholeLiteral), size: number[quantity.Duration], native: textOf[quantity.Duration],
	}, Rule{Min: float64(least), Max: float64(most)})
}

func wait(at *quantity.Wait, most time.Duration) Plain {
	return plainOf(at, form[quantity.Wait]{
		unit: durationUnit(), read: spelt[quantity.Wait](TextLiteral, WholeLiteral),
		size: func(w quantity.Wait) (float64, bool) { return float64(w.For), true }, native: textOf[quantity.Wait],
	}, Rule{Max: float64(most)})
}

func size(at *quantity.Size, least, most float64) Plain {
	return plainOf(at, form[quantity.Size]{
		unit: Unit{JSON: "integer", Spelling: quantity.SizePattern, want: "%s, in bytes or with KiB, MiB or GiB", show: showSize},
		read: spelt[quantity.Size](TextLiteral, WholeLiteral), size: number[quantity.Size], native: numberOr[quantity.Size],
	}, Rule{Min: least, Max: most})
}

func showSize(x float64) string { return quantity.Size(x).String() }

func buffer(at *quantity.BufferSize) Plain {
	return plainOf(at, form[quantity.BufferSize]{
		unit: Unit{JSON: "integer", Spelling: quantity.BufferPattern, want: "auto, or %s, in bytes or with KiB, MiB or GiB", show: showSize},
		read: spelt[quantity.BufferSize](TextLiteral, WholeLiteral),
		size: func(b quantity.BufferSize) (float64, bool) { return float64(b.Bytes), !b.Auto }, native: numberOr[quantity.BufferSize],
	}, Rule{Min: 4 << 10, Max: 1 << 30})
}

// The maximum rate of all keys, and the minimum of a link and of a search.
const (
	highestRate  = 400e9
	leastRate    = 1e6
	leastSought  = 10e3
	longestTrial = time.Hour
)

func showRate(x float64) string { return quantity.Rate(x).String() }

func rateForm() form[quantity.Rate] {
	return form[quantity.Rate]{
		unit: Unit{JSON: "integer", Spelling: quantity.RatePattern, Digits: true, want: "a rate of %s, such as 1Gbit/s", show: showRate},
		read: spelt[quantity.Rate](TextLiteral, WholeLiteral),
		size: func(r quantity.Rate) (float64, bool) { return float64(r), true }, native: textOf[quantity.Rate],
	}
}

func rate(at *quantity.Rate, least float64) Plain {
	return plainOf(at, rateForm(), Rule{Min: least, Max: highestRate})
}

func load(at *quantity.Load) Plain {
	return plainOf(at, form[quantity.Load]{
		unit: Unit{JSON: "integer", Spelling: quantity.LoadPattern, Digits: true, want: "unlimited, or a rate of %s, such as 1Gbit/s", show: showRate},
		read: spelt[quantity.Load](TextLiteral, WholeLiteral),
		size: func(l quantity.Load) (float64, bool) { return float64(l), l != quantity.Unlimited }, native: textOf[quantity.Load],
	}, Rule{Min: leastRate, Max: highestRate})
}

// mtu is the MTU of Ethernet's frames or of what they carry.
func mtu(at *int) Plain { return count(at, 1280, 9000) }

// mostBlocks is the maximum number of blocks of a run.
const mostBlocks = 1000

func trialLength(at *quantity.Duration) Plain {
	return duration(at, 100*time.Millisecond, longestTrial)
}

// perhaps is a boolean that may be absent.
func perhaps(at **bool) Plain {
	return plainOf(at, form[*bool]{
		unit:   Unit{JSON: "boolean", want: "true or false"},
		read:   func(at **bool, l Literal) bool { *at = new(isTrue(l)); return l.Kind == TruthLiteral },
		size:   none[*bool],
		native: func(b *bool) any { return *b },
	}, Rule{})
}
