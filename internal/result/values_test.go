package result

import (
	"encoding/json"
	"testing"

	"tare/internal/testkit/must"
)

// Values are a list in a file, absent if there are none, and the same after reading.
func TestValuesAreAList(t *testing.T) {
	for want, w := range map[string]Warning{
		`{"code":"","scope":"","text":""}`:                              {},
		`{"code":"","scope":"","text":"","values":["1398","two b",""]}`: {Values: NewValues("1398", "two"+valueEnd+"b", "")},
	} {
		text := must.Get(json.Marshal(w))(t)
		must.EqualFor(t, "in a file", want, string(text))
		var got Warning
		must.Do(t, json.Unmarshal(text, &got))
		must.Equal(t, w, got)
	}
	var w Warning
	must.True(t, json.Unmarshal([]byte(`{"values":["1",2]}`), &w) != nil, "a number was read as a text")
}
