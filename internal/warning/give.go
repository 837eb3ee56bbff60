package warning

import (
	"fmt"
	"strings"

	"tare/internal/result"
)

// New makes a warning. Of the arguments of its text, those of Said are its values.
func New(code Code, scope, format string, args ...any) result.Warning {
	text := fmt.Sprintf(format, args...)
	return result.Warning{Code: string(code), Scope: scope, Text: text, Values: values(args)}
}

// NewNote makes a note of a trial in the same way.
func NewNote(code Code, format string, args ...any) result.Note {
	text := fmt.Sprintf(format, args...)
	return result.Note{Code: string(code), Text: text, Values: values(args)}
}

// Said marks an argument of the text of a warning as a value of it. It is written there as the argument itself would
// be.
func Said(v any) fmt.Formatter { return &said{of: v} }

type said struct {
	of   any
	text string // as it was written
}

// Format is fmt.Formatter.
func (s *said) Format(to fmt.State, verb rune) {
	s.text = fmt.Sprintf(fmt.FormatString(to, verb), s.of)
	_, _ = to.Write([]byte(s.text)) // into a text
}

func values(args []any) result.Values {
	var list []string
	for _, a := range args {
		if s, is := a.(*said); is {
			list = append(list, s.text)
		}
	}
	return result.NewValues(list...)
}

// Words is the part of the short form that the values of a warning replace, empty if it has none or there are none.
func (e Entry) Words(values result.Values) string {
	list := values.List()
	if e.Say == "" || len(list) == 0 {
		return ""
	}
	var pairs []string
	for i, v := range list {
		pairs = append(pairs, fmt.Sprintf("$%d", i+1), v)
	}
	return strings.NewReplacer(pairs...).Replace(e.Say)
}
