package studyfile_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"tare/internal/study"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

// golden holds a file of cases against what is made of each: a case is a study file, a line of
// ">>>", and the result.
func golden(t *testing.T, path string, result func(src string) string) {
	t.Helper()
	const between, arrow = "=====\n", ">>>\n"
	raw := string(must.Get(os.ReadFile(path))(t))
	var all []string
	for i, c := range strings.Split(raw, between) {
		src, _, ok := strings.Cut(c, arrow)
		must.Require(t, ok, "case %d has no line of %q: %q", i, arrow, c)
		all = append(all, src+arrow+result(src))
	}
	must.File(t, path, strings.Join(all, between), *update)
}

// TestBadFiles holds every error text of Decode against its golden file.
func TestBadFiles(t *testing.T) {
	golden(t, "testdata/bad.txt", func(src string) string {
		s, err := studyfile.Decode("s.yaml", []byte(src), studytest.Catalog())
		must.Require(t, err != nil, "this is good: %q", src)
		must.EqualFor(t, fmt.Sprintf("%q gives a study beside its error", src), study.Study{}, s)
		checkErrors(t, err)
		return err.Error() + "\n"
	})
}

// TestResolved shows studies and the study.yaml of their runs.
func TestResolved(t *testing.T) {
	golden(t, "testdata/resolved.txt", func(src string) string {
		s := must.Get(studyfile.Decode("s.yaml", []byte(src), studytest.Catalog()))(t)
		return string(must.Get(studyfile.Marshal(must.Get(study.Resolve(s, studytest.Catalog()))(t)))(t))
	})
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
		must.True(t, one.File != "" && one.Line >= last && one.Text != "" && !strings.ContainsAny(one.Error(), "\n\r\x00\x1b"),
			"after line %d: not a single line with its place: %q", last, one.Error())
		last = one.Line
	}
}
