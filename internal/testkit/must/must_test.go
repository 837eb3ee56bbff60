package must

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

// recorder is a test that records how it fails, and goes on.
type recorder struct {
	testing.TB
	failed []string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatal(args ...any) { r.failed = append(r.failed, fmt.Sprint(args...)) }

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

func (r *recorder) Errorf(string, ...any) { r.failed = append(r.failed, "they differ") }

func TestFails(t *testing.T) {
	some := errors.New("some error")
	for name, tt := range map[string]struct {
		run  func(t testing.TB)
		want string
	}{
		"a value":               {func(t testing.TB) { Get(1, nil)(t) }, "[]"},
		"no value":              {func(t testing.TB) { Get(1, some)(t) }, "[some error]"},
		"no error":              {func(t testing.TB) { Do(t, nil, nil) }, "[]"},
		"the second is one":     {func(t testing.TB) { Do(t, nil, some) }, "[some error]"},
		"a condition":           {func(t testing.TB) { True(t, true, "x"); Require(t, true, "x") }, "[]"},
		"no condition":          {func(t testing.TB) { True(t, false, "x"); Require(t, false, "%d", 1) }, "[they differ 1]"},
		"equal":                 {func(t testing.TB) { Equal(t, []int{1}, []int{1}) }, "[]"},
		"different":             {func(t testing.TB) { Equal(t, []int{1}, []int{2}) }, "[they differ]"},
		"equal, of a case":      {func(t testing.TB) { EqualFor(t, "x", 1, 1) }, "[]"},
		"different, of a case":  {func(t testing.TB) { EqualFor(t, "x", 1, 2) }, "[they differ]"},
		"every part":            {func(t testing.TB) { Contain(t, "a b", "a", "b") }, "[]"},
		"one part less":         {func(t testing.TB) { Contain(t, "a b", "a", "c") }, "[they differ]"},
		"an error as expected":  {func(t testing.TB) { Fail(t, Err(1, some), "some"); FailFor(t, "x", some, "some", "error") }, "[]"},
		"no error to fail with": {func(t testing.TB) { Fail(t, nil, ""); FailFor(t, "x", nil) }, "[they differ they differ]"},
		"another error":         {func(t testing.TB) { Fail(t, some, "other"); FailFor(t, "x", some, "some", "other") }, "[they differ they differ]"},
		"an error in a line":    {func(t testing.TB) { FailLine(t, "x", some, "some") }, "[]"},
		"not in a line":         {func(t testing.TB) { FailLine(t, "x", errors.New("a\nb")); FailLine(t, "x", nil) }, "[they differ they differ]"},
		"no two values":         {func(t testing.TB) { Get2(1, 2, some)(t) }, "[some error]"},
		"a named case": {func(t testing.TB) {
			Do(Named(t, "x"), some)
			Require(Named(t, "x"), false, "%d", 1)
			Fail(Named(t, "x"), some, "other")
		}, "[x: some error x: 1 they differ]"},
		"no error, nil":         {func(t testing.TB) { Equal(t, nil, Err(1, nil)) }, "[]"},
		"an error, not nil":     {func(t testing.TB) { Equal(t, nil, Err(1, some)) }, "[they differ]"},
		"different in the type": {func(t testing.TB) { Equal(t, int64(1), 1) }, "[they differ]"},
	} {
		r := &recorder{}
		if tt.run(r); fmt.Sprint(r.failed) != tt.want {
			t.Errorf("%s: failed with %v, want %s", name, r.failed, tt.want)
		}
	}
	file := filepath.Join(t.TempDir(), "golden")
	for _, tt := range []struct {
		got   string
		write bool
		fails int
	}{{"a", false, 2}, {"a", true, 0}, {"a", false, 0}, {"b", false, 1}} { // the first: there is no file, and what is read of it differs
		r := &recorder{}
		if File(r, file, tt.got, tt.write); len(r.failed) != tt.fails {
			t.Errorf("%+v: failed with %q", tt, r.failed)
		}
	}
	if Get("v", nil)(t) != "v" {
		t.Error("Get does not return the value")
	}
}
