package printable

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
)

// The maximum width of strings, in columns.
const (
	// MostName is for names: a study's names are shorter, and a page shows each many
	// times.
	MaxName = 200
	// MostProse is for prose.
	MostProse = 20000
	// mostWhy is for the reason why one of many trials does not count.
	mostWhy = 2000
)

// Name cleans a name, and shortens one that only a broken file can contain. Different
// names stay different.
func Name(s string) string {
	clean := Clean(s)
	if len(clean) <= MaxName || Width(clean) <= MaxName {
		return clean
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(clean)) // a hash never returns an error
	return CutMiddle(clean, MaxName-9) + fmt.Sprintf("~%08x", h.Sum32())
}

// Prose cleans prose.
func Prose(s string) string {
	clean := Clean(s)
	if len(clean) <= MostProse { // the width is at most the number of bytes
		return clean
	}
	return Cut(clean, MostProse)
}

func why(s string) string { return Cut(Clean(s), mostWhy) }

// prose reports whether a field contains prose, by the name of the field or of its struct
// and the field. All other fields are names: a new field is always cleaned, and only cut
// too early until it is added here.
func prose(of, field string) bool {
	switch of + "." + field {
	case "Breakdown.Missing", "CostPass.Missing", "Stopping.Reason":
		return false
	}
	return slices.Contains([]string{
		"Title", "Description", "Reason", "Text", "Value", "Noisy", "Source", "Scope", "Expect", "Missing", "Notes", "Command",
		"Before", "After", // of a difference between two runs
		"Claim", "Published", "Differs", // of a published claim
	}, field)
}

// Value returns v with every string in it, keys of maps included, safe to show on one
// line and of bounded length. It does not modify what v points to: clean parts are
// shared, and the rest is copied. It panics for types that it does not support, such as
// an interface or a channel, because that is a programming error.
func Value[T any](v T) T {
	w := walker{}
	walk := w.of(reflect.TypeFor[T](), Name)
	if walk == nil {
		return v
	}
	if clean, changed := walk(reflect.ValueOf(&v).Elem()); changed {
		return clean.Interface().(T)
	}
	return v
}

// visit returns a cleaned value, and whether it differs from its argument.
type visit func(reflect.Value) (reflect.Value, bool)

// clean is how one string is cleaned: [Name], [Prose].
type clean func(string) string

// walker contains the structs visited so far, because a type may be recursive.
type walker map[reflect.Type]*visit

// of returns the visitor of a type, nil if it contains no string.
func (w walker) of(t reflect.Type, how clean) visit {
	switch t.Kind() {
	case reflect.String:
		return func(v reflect.Value) (reflect.Value, bool) {
			s := v.String()
			c := how(s)
			if c == s {
				return v, false
			}
			return reflect.ValueOf(c).Convert(v.Type()), true
		}
	case reflect.Struct:
		return w.structure(t)
	case reflect.Pointer:
		return w.pointer(t, how)
	case reflect.Slice, reflect.Array:
		return w.sequence(t, how)
	case reflect.Map:
		return w.mapping(t, how)
	case reflect.Interface, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		panic("printable: cannot clean a " + t.String())
	}
	return nil // numbers and booleans
}

// structure visits the exported fields of a struct. Unexported fields of other packages,
// such as those of a time, contain nothing that is decoded.
func (w walker) structure(t reflect.Type) visit {
	if known, ok := w[t]; ok {
		return func(v reflect.Value) (reflect.Value, bool) { return (*known)(v) }
	}
	type field struct {
		index int
		visit visit
	}
	var fields []field
	done := visit(func(v reflect.Value) (reflect.Value, bool) {
		out, changed := v, false
		for _, f := range fields {
			c, ok := f.visit(v.Field(f.index))
			if !ok {
				continue
			}
			if !changed {
				out, changed = reflect.New(t).Elem(), true
				out.Set(v)
			}
			out.Field(f.index).Set(c)
		}
		return out, changed
	})
	w[t] = &done
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		how := clean(Name)
		switch {
		case t.Name() == "Trial" && f.Name == "Reason":
			how = why
		case prose(t.Name(), f.Name):
			how = Prose
		}
		if visit := w.of(f.Type, how); visit != nil {
			fields = append(fields, field{i, visit})
		}
	}
	if len(fields) == 0 {
		delete(w, t)
		return nil
	}
	return done
}

func (w walker) pointer(t reflect.Type, how clean) visit {
	inner := w.of(t.Elem(), how)
	if inner == nil {
		return nil
	}
	return func(v reflect.Value) (reflect.Value, bool) {
		if v.IsNil() {
			return v, false
		}
		c, changed := inner(v.Elem())
		if !changed {
			return v, false
		}
		out := reflect.New(t.Elem())
		out.Elem().Set(c)
		return out, true
	}
}

// sequence visits a slice or an array.
func (w walker) sequence(t reflect.Type, how clean) visit {
	inner := w.of(t.Elem(), how)
	if inner == nil {
		return nil
	}
	return func(v reflect.Value) (reflect.Value, bool) {
		out, changed := v, false
		for i := range v.Len() {
			c, ok := inner(v.Index(i))
			if !ok {
				continue
			}
			if !changed {
				out, changed = reflect.New(t).Elem(), true
				if t.Kind() == reflect.Slice {
					out.Set(reflect.MakeSlice(t, v.Len(), v.Len()))
				}
				reflect.Copy(out, v)
			}
			out.Index(i).Set(c)
		}
		return out, changed
	}
}

// mapping visits a map. If several keys become equal, the value of the last one in their
// order is kept; counts are added.
func (w walker) mapping(t reflect.Type, how clean) visit {
	key, value := w.of(t.Key(), Name), w.of(t.Elem(), how)
	if key == nil && value == nil {
		return nil
	}
	return func(v reflect.Value) (reflect.Value, bool) {
		if named(v) {
			return v, false
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return compare(a, b) })
		out, changed := reflect.MakeMapWithSize(t, v.Len()), false
		for _, k := range keys {
			at, of := k, v.MapIndex(k)
			for _, part := range []struct {
				visit visit
				v     *reflect.Value
			}{{key, &at}, {value, &of}} {
				if part.visit == nil {
					continue
				}
				c, ok := part.visit(*part.v)
				*part.v, changed = c, changed || ok
			}
			if had := out.MapIndex(at); had.IsValid() && of.CanInt() {
				sum := reflect.New(t.Elem()).Elem()
				sum.SetInt(had.Int() + of.Int())
				of = sum
			}
			out.SetMapIndex(at, of)
		}
		if !changed {
			return v, false
		}
		return out, true
	}
}

// named reports quickly whether a map of a kind that trials contain often has only clean
// keys.
func named(v reflect.Value) bool {
	switch m := v.Interface().(type) {
	case map[string]float64:
		return clear(m)
	case map[string]uint64:
		return clear(m)
	}
	return v.Len() == 0
}

func clear[T any](m map[string]T) bool {
	for k := range m {
		if Name(k) != k {
			return false
		}
	}
	return true
}

func compare(a, b reflect.Value) int {
	if a.Kind() != reflect.String {
		return 0
	}
	switch {
	case a.String() < b.String():
		return -1
	case a.String() > b.String():
		return 1
	}
	return 0
}
