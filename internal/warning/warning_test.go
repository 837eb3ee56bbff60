package warning

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every entry has a line for the screen of at most 80 columns, one pair of braces where a
// value replaces a part of it, and causes that are in the registry.
func TestEntries(t *testing.T) {
	scopes := []string{"run", "mode", "workload", "mode workload", "mode workload metric", "run, or mode workload"}
	for _, e := range All() {
		if n := utf8.RuneCountInString(strings.NewReplacer("{", "", "}", "").Replace(e.Short)); n == 0 || n > 80 {
			t.Errorf("%s: its short form has %d columns: %q", e.Code, n, e.Short)
		}
		braces := strings.Count(e.Short, "{") + strings.Count(e.Short, "}")
		if has := e.Seen != ""; has != (e.Say != "") || has != (braces == 2) || braces != 0 && braces != 2 {
			t.Errorf("%s: Seen %q, Say %q, %d braces", e.Code, e.Seen, e.Say, braces)
		}
		if _, err := regexp.Compile(e.Seen); err != nil {
			t.Errorf("%s: %v", e.Code, err)
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
