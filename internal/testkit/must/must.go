// Package must is for what a test expects, in one line: a call without an error or with one, a condition, two equal
// values, a text with certain words, and a file that holds what it should.
package must

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TB is what reports a failure: a test of package testing, or of rapid.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Get returns a function that returns the value of a call, or stops the test if the call failed:
//
//	raw := must.Get(os.ReadFile(path))(t)
func Get[T any](v T, err error) func(t TB) T {
	return func(t TB) T {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Get2 is Get for a call of two values.
func Get2[A, B any](a A, b B, err error) func(t TB) (A, B) {
	return func(t TB) (A, B) {
		t.Helper()
		Do(t, err)
		return a, b
	}
}

// Do stops the test if one of the calls failed.
func Do(t TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Err returns the error of a call.
func Err[T any](_ T, err error) error { return err }

// Fail fails the test unless a call failed with an error that has all these words, and lets it go on.
func Fail(t TB, err error, words ...string) {
	t.Helper()
	FailFor(t, "the error", err, words...)
}

// FailFor is Fail for one case of several, which it names.
func FailFor(t TB, name any, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%v: no error, want one with %q", name, words)
		return
	}
	ContainFor(t, name, err.Error(), words...)
}

// FailLine is FailFor for an error that must be one line.
func FailLine(t TB, name any, err error, parts ...string) {
	t.Helper()
	FailFor(t, name, err, parts...)
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("%v: got %q, want one line", name, err)
	}
}

// Contain fails the test unless a text has all these words, and lets it go on.
func Contain(t TB, text string, words ...string) {
	t.Helper()
	ContainFor(t, "the text", text, words...)
}

// NotContain fails the test for each of these words that a text has, and lets it go on.
func NotContain(t TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("%q has %q", text, w)
		}
	}
}

// ContainFor is Contain for one case of several, which it names.
func ContainFor(t TB, name any, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%v: %q has no %q", name, text, w)
		}
	}
}

// True fails the test with a message unless a condition holds, and lets it go on. The message is evaluated in any case.
func True(t TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

// Require is True, but stops the test.
func Require(t TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Fatalf(format, args...)
	}
}

// Equal fails the test with the differences between two values, and lets it go on.
func Equal(t TB, want, got any, opts ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, opts...); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// EqualFor is Equal for one case of several, which it names.
func EqualFor(t TB, name, want, got any, opts ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, opts...); d != "" {
		t.Errorf("%v (-want +got):\n%s", name, d)
	}
}

// File compares what a test got with a file that holds what it should get, a golden file. To write is to accept what
// it got: the file is written first.
func File[T ~string | ~[]byte](t TB, file string, got T, write bool) {
	t.Helper()
	if write {
		Do(t, os.WriteFile(file, []byte(got), 0o644))
	}
	EqualFor(t, file, string(Get(os.ReadFile(file))(t)), string(got))
}

// Named is a test whose failures begin with the name of one case of several:
//
//	client, server := must.Get2(trial(p))(must.Named(t, p.Kind))
func Named(t testing.TB, name any) testing.TB { return named{t, name} }

type named struct {
	testing.TB
	name any
}

func (n named) Fatal(args ...any) {
	n.Helper()
	n.TB.Fatal(append([]any{n.name, ": "}, args...)...)
}

func (n named) Fatalf(format string, args ...any) {
	n.Helper()
	n.TB.Fatalf("%v: "+format, append([]any{n.name}, args...)...)
}

func (n named) Errorf(format string, args ...any) {
	n.Helper()
	n.TB.Errorf("%v: "+format, append([]any{n.name}, args...)...)
}
