package studyfile_test

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/must"
	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/study/studytest"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

// TestBadFiles holds every error text of Decode against testdata/bad.txt, whose
// cases are a file, a line of ">>>", and the error.
func TestBadFiles(t *testing.T) {
	const path, between, arrow = "testdata/bad.txt", "=====\n", ">>>\n"
	raw := must.Get(os.ReadFile(path))(t)
	var got strings.Builder
	for i, c := range strings.Split(string(raw), between) {
		src, _, ok := strings.Cut(c, arrow)
		if !ok {
			t.Fatalf("case %d has no line of %q: %q", i, arrow, c)
		}
		s, err := studyfile.Decode("s.yaml", []byte(src), studytest.Catalog())
		if err == nil {
			t.Errorf("case %d is good: %q", i, src)
			continue
		}
		if diff := cmp.Diff(study.Study{}, s); diff != "" {
			t.Errorf("case %d gives a study beside its error:\n%s", i, diff)
		}
		checkErrors(t, err)
		if i > 0 {
			got.WriteString(between)
		}
		got.WriteString(src + arrow + err.Error() + "\n")
	}
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got.String()), 0o644))
		return
	}
	must.Equal(t, string(raw), got.String())
}

// checkErrors makes sure that err is one or several *study.Error, one line
// each, in the order of their lines.
func checkErrors(t *testing.T, err error) {
	t.Helper()
	all := []error{err}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		all = joined.Unwrap()
	}
	last := 1
	for _, e := range all {
		var one *study.Error
		if !errors.As(e, &one) {
			t.Errorf("%T is not a *study.Error: %v", e, e)
			continue
		}
		if one.File == "" || one.Line < last || one.Text == "" || strings.ContainsAny(one.Error(), "\n\r\x00\x1b") {
			t.Errorf("after line %d: not a single line with its place: %q", last, one.Error())
		}
		last = one.Line
	}
}
