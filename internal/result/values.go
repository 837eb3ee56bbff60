package result

import (
	"encoding/json"
	"strings"
)

// Values are the values of a warning or a note, as its text has them and in its order: a list in JSON. They can be
// compared.
type Values string

// valueEnd separates values: a character that no text of a warning has, and that can be printed, so that cleaning
// foreign text keeps it.
const valueEnd = "\u241e"

// NewValues lists values.
func NewValues(list ...string) Values {
	plain := make([]string, len(list))
	for i, v := range list {
		plain[i] = strings.ReplaceAll(v, valueEnd, " ")
	}
	return Values(strings.Join(plain, valueEnd))
}

// List returns them, none for the zero value.
func (v Values) List() []string {
	if v == "" {
		return nil
	}
	return strings.Split(string(v), valueEnd)
}

// MarshalJSON writes a list.
func (v Values) MarshalJSON() ([]byte, error) { return json.Marshal(v.List()) }

// UnmarshalJSON reads a list.
func (v *Values) UnmarshalJSON(text []byte) error {
	var list []string
	err := json.Unmarshal(text, &list)
	*v = NewValues(list...)
	return err
}
