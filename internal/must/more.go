package must

import (
	"strings"
	"testing"
)

// Get2 is Get for a call of two values.
func Get2[A, B any](a A, b B, err error) func(t testing.TB) (A, B) {
	return func(t testing.TB) (A, B) {
		t.Helper()
		Do(t, err)
		return a, b
	}
}

// FailFor is Fail for one case of several, which it names, and for an error that has every part.
func FailFor(t testing.TB, name any, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%v: no error, want one with %q", name, parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%v: got %v, want an error with %q", name, err, p)
		}
	}
}

// FailLine is FailFor for an error that must be one line.
func FailLine(t testing.TB, name any, err error, parts ...string) {
	t.Helper()
	FailFor(t, name, err, parts...)
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("%v: got %q, want one line", name, err)
	}
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

func (n named) Errorf(format string, args ...any) {
	n.Helper()
	n.TB.Errorf("%v: "+format, append([]any{n.name}, args...)...)
}
