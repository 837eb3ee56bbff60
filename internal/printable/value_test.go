package printable_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"tare/internal/printable"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

const hostile = "\x1b[31mred\u202e\r\n\x00\x9b\u2066\xff <script>"

// fill puts a hostile string wherever v can hold one, two elements in every slice and
// map, and returns how many there are.
func fill(v reflect.Value, depth int) int {
	if v.Type() == reflect.TypeFor[time.Time]() {
		return 0
	}
	n := 0
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile + strings.Repeat("long ", 4200))
		return 1
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				n += fill(v.Field(i), depth)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		n += fill(v.Elem(), depth)
	case reflect.Slice:
		if depth == 0 {
			return 0
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		n += fill(v.Index(0), depth-1) + fill(v.Index(1), depth-1)
	case reflect.Array:
		for i := range v.Len() {
			n += fill(v.Index(i), depth)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		n += fill(key, depth) + fill(value, depth)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
	return n
}

// each calls f with every string in v and where it is.
func each(v reflect.Value, at string, f func(at, s string)) {
	switch v.Kind() {
	case reflect.String:
		f(at, v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				each(v.Field(i), at+"."+v.Type().Field(i).Name, f)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			each(v.Elem(), at, f)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			each(v.Index(i), fmt.Sprintf("%s[%d]", at, i), f)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			each(k, at+" key", f)
			each(v.MapIndex(k), at+" value", f)
		}
	}
}

// survives proves that no hostile string survives in a value of type T, whatever fields
// it has by now, and that cleaning leaves alone what it was given.
func survives[T any](t *testing.T) {
	t.Helper()
	var v, again T
	if n := fill(reflect.ValueOf(&v).Elem(), 2); n < 10 {
		t.Fatalf("only %d strings were filled", n)
	}
	fill(reflect.ValueOf(&again).Elem(), 2)
	clean := printable.Value(v)
	each(reflect.ValueOf(clean), reflect.TypeFor[T]().Name(), func(at, s string) {
		must.True(t, s != "", "%s is gone", at)
		if i := strings.IndexFunc(s, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) }); i >= 0 {
			t.Errorf("%s holds %q", at, s[i:min(len(s), i+8)])
		}
		if w := printable.Width(s); w > printable.MostProse {
			t.Errorf("%s has %d columns", at, w)
		}
	})
	must.Equal(t, again, v)
	must.Equal(t, clean, printable.Value(clean))
}

func TestNoHostileStringSurvives(t *testing.T) {
	t.Run("run", survives[result.Run])
	t.Run("trial", survives[result.Trial])
	t.Run("changes", survives[result.Changes])
}

func TestCleanIsShared(t *testing.T) {
	trials := []result.Trial{{Mode: "host", Metrics: map[string]float64{"goodput": 1}}, {Mode: "netns/bridge", Reason: "dial: timeout"}}
	if got := printable.Value(trials); &got[0] != &trials[0] {
		t.Error("trials that are clean were copied")
	}
	trials[1].Reason = hostile
	got := printable.Value(trials)
	must.True(t, &got[0] != &trials[0] && got[1].Reason != hostile && trials[1].Reason == hostile, "%q, of %q", got[1].Reason, trials[1].Reason)
	if n := testing.AllocsPerRun(10, func() { printable.Value(got) }); n > 400 {
		t.Errorf("%v allocations to find nothing to do", n)
	}
}

func TestNamesMeet(t *testing.T) {
	got := printable.Value(map[string]int64{"a\x00": 1, "a": 2, "b": 4})
	must.Equal(t, map[string]int64{"a": 3, "b": 4}, got)
	long := strings.Repeat("x", 300)
	if a, b := printable.Name(long+"1"), printable.Name(long+"2"); a == b || len(a) > printable.MaxName {
		t.Errorf("%q and %q", a, b)
	}
}
