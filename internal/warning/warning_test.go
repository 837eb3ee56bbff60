package warning

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tare/internal/printable"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// Every entry has a line for the screen of at most 80 columns, one pair of braces where a
// value replaces a part of it, and causes that are in the registry.
func TestEntries(t *testing.T) {
	scopes := []string{"run", "mode", "workload", "mode workload", "mode workload metric", "run, or mode workload", "run, or mode"}
	for _, e := range All() {
		if n := utf8.RuneCountInString(strings.NewReplacer("{", "", "}", "").Replace(e.Short)); n == 0 || n > 80 {
			t.Errorf("%s: its short form has %d columns: %q", e.Code, n, e.Short)
		}
		braces := strings.Count(e.Short, "{") + strings.Count(e.Short, "}")
		if has := strings.Contains(e.Say, "$1"); has != (e.Say != "") || has != (braces == 2) || braces != 0 && braces != 2 {
			t.Errorf("%s: Say %q, %d braces", e.Code, e.Say, braces)
		}
		if !slices.Contains(scopes, e.Scope) || e.Section == "" || e.When == "" || e.Section != Tools && (e.Effect == "" || e.Fix == "") {
			t.Errorf("%s: %+v", e.Code, e)
		}
		for _, cause := range e.Causes {
			if _, _, ok := Find(string(cause)); !ok || cause == e.Code {
				t.Errorf("%s: its cause %s is not in the registry", e.Code, cause)
			}
		}
	}
	if _, place, ok := Find("no_such_code"); ok || place != len(All()) {
		t.Error("a code that is not in the registry was found")
	}
}

// The values of a warning stand in its text as they would without the mark, and in its short form.
func TestValues(t *testing.T) {
	w := New(MSSDiffers, "docker/overlay tcp_rr", "segments carry %d bytes here and %d in %s: %.1f %%", Said(1398), Said(1448), Said("host"), 3.14159)
	must.Equal(t, result.Warning{Code: "mss_differs", Scope: "docker/overlay tcp_rr", Text: "segments carry 1398 bytes here and 1448 in host: 3.1 %",
		Values: result.NewValues("1398", "1448", "host")}, w)
	must.EqualFor(t, "cleaned", w, printable.Value(w))
	e, _, _ := Find(w.Code)
	must.EqualFor(t, "its words", "is 1398 bytes (1448 in host)", e.Words(w.Values))
	must.EqualFor(t, "the words without values", "", e.Words(""))
	must.Equal(t, result.Note{Code: "loss_unexplained", Text: "12.3 %", Values: "12.3"}, NewNote(LossUnexplained, "%.3g %%", Said(12.345)))
	without, _, _ := Find(string(BaselineMissing))
	must.EqualFor(t, "the words of an entry that says none", "", without.Words("1"))
}
