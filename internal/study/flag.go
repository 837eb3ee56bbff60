package study

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tare/internal/study/quantity"
)

// Effect is what another value of a key affects: whether results may be compared, and whether a
// resumed run may use the earlier trials.
type Effect int

// The effects. A key that declares none decides both.
const (
	Decides          Effect = iota
	DecidesTrials           // what a trial is; of results only the precision
	DecidesPrecision        // of results only: how many trials there are, or others beside them
	DecidesModes            // results; the settings of modes have the values, too
	DecidesNothing          // or it is compared separately
)

// Apart lists the keys that do not decide what a trial is, or that are in the settings of modes and
// workloads, as Flat skips them.
func Apart(fields []Field) []string {
	var out []string
	walk("", fields, func(f Field) {
		if f.Effect != Decides && f.Effect != DecidesTrials {
			out = append(out, f.Key)
		}
	})
	return out
}

// Flag is the flag of the command line that sets a key: to the flag's value, or to Sets, if that
// is not empty; a flag of a section that may be absent adds it.
type Flag struct{ Name, Sets, Help string }

// Flags lists the keys of a study that flags set. The key of a part follows that of the part after a dot.
func (s *Study) Flags() []Field {
	var out []Field
	walk("", s.Fields(), func(f Field) {
		if f.Flag.Name != "" {
			out = append(out, f)
		}
	})
	return out
}

// walk calls do for fields and those of their sections.
func walk(prefix string, fields []Field, do func(Field)) {
	for _, f := range fields {
		f.Key = prefix + f.Key
		do(f)
		if part, is := f.Value.(Section); is {
			walk(f.Key+".", part.Fields(), do)
		}
	}
}

// setByFlag sets a key to the text of its flag and returns what is wrong with it, empty if nothing is.
func (f Field) setByFlag(text string) string {
	flag, key := "--"+f.Flag.Name, f.Key[strings.LastIndexByte(f.Key, '.')+1:]
	if part, is := f.Value.(Section); is {
		if part.IsZero() {
			part.Make()
		}
		return ""
	}
	if text == "" {
		return flag + " has no value"
	}
	if f.Flag.Sets != "" {
		text = f.Flag.Sets
	}
	v := f.Value.(Plain)
	if err := v.Parse(text); err != nil {
		return flag + ": " + err.Error()
	}
	switch wrong := v.Check(key); {
	case wrong == "":
		return ""
	case strings.ReplaceAll(key, "_", "-") == f.Flag.Name:
		return flag + strings.TrimPrefix(wrong, key)
	default:
		return flag + ": " + wrong
	}
}

// Parse sets the value to what a flag says.
func (p plain[T]) Parse(text string) (err error) {
	switch at := any(p.at).(type) {
	case *quantity.Duration: // also one below 0, of which Check says what is allowed
		var d time.Duration
		d, err = time.ParseDuration(text)
		*at = quantity.Duration(d)
	case encoding.TextUnmarshaler:
		err = at.UnmarshalText([]byte(text))
	case *string:
		*at = text
	case *uint64:
		*at, err = strconv.ParseUint(text, 10, 64)
	case *bool:
		*at, err = strconv.ParseBool(text)
	default:
		err = fmt.Errorf("a flag cannot set a %T", *p.at)
	}
	return err
}
