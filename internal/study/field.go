package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Field is one key of a mapping in a study, bound to the location of its value. The
// Fields methods of Study and its parts declare all keys, each in one line: reading,
// checking, defaults, differences, writing and the JSON Schema all use these
// declarations.
type Field struct {
	Key      string
	Doc      string // for the JSON Schema
	Required bool   // required in an item, and therefore always written
	Value    Value
	Effect   Effect
	Flag     Flag // that sets it; none if it has no name
}

func (f Field) with(e Effect) Field { f.Effect = e; return f }

// flag declares the flag that sets a key, see [Flag].
func (f Field) flag(name, sets, help string) Field { f.Flag = Flag{name, sets, help}; return f }

// Value is the value of a key: a Plain, a Sequence, a CountsValue, a Section, an Items, a
// Texts or a SideValue.
type Value interface {
	// IsZero reports whether the key is absent.
	IsZero() bool
	// String returns the value as written in a study file, on one line.
	String() string
	// Want describes the valid values of the key, for the second half of an error.
	Want(key string) string
	// Get returns the value itself.
	Get() any
	// Set copies the value of another Value of the same key.
	Set(from Value)
}

// Plain is a single value: a number, a text, a quantity with its unit.
type Plain interface {
	Value
	Rule() Rule
	// Read sets the value from a literal and reports whether it has the right kind.
	Read(l Literal) bool
	// Parse sets the value to the text of a flag.
	Parse(text string) error
	// Check returns what is wrong with the value according to its rule, empty if nothing
	// is.
	Check(key string) string
	// Native is the value as YAML represents it: a text, a number or a boolean.
	Native() any
}

// Sequence is a list of plain values of one rule, in ascending order.
type Sequence interface {
	Value
	Len() int
	// At returns an element; a new element if there is none at i.
	At(i int) Plain
	// Read appends a literal and reports whether it has the right kind.
	Read(l Literal) bool
}

// Section is a mapping with its own keys.
type Section interface {
	Value
	Fields() []Field
	// Make converts an absent section to an empty one, where a study distinguishes them.
	Make()
}

// Items is a list of mappings.
type Items interface {
	Value
	Name() string // of an item
	// Short is the key that a plain name as item sets, empty if there is none. If brief
	// is set, items with only that key are also written as plain names.
	Short() (key string, brief bool)
	Len() int
	At(i int) []Field
	Add() []Field // appends an empty item
	New() []Field // of an item that is in no list
}

func key(name string, v Value, doc string) Field { return Field{Key: name, Value: v, Doc: doc} }

func required(name string, v Value, doc string) Field {
	return Field{Key: name, Value: v, Doc: doc, Required: true}
}

// Keys lists the keys of fields.
func Keys(fields []Field) []string {
	all := make([]string, 0, len(fields))
	for _, f := range fields {
		all = append(all, f.Key)
	}
	return all
}

// Find finds the field of a key.
func Find(fields []Field, key string) (Field, bool) {
	if i := slices.IndexFunc(fields, func(f Field) bool { return f.Key == key }); i >= 0 {
		return fields[i], true
	}
	return Field{}, false
}

// Check returns what is wrong with a plain value according to its rule, empty if nothing
// is.
func (f Field) Check() string {
	v := f.Value
	if c, ok := v.(CountsValue); ok {
		v = c.Part()
	}
	if p, ok := v.(Plain); ok {
		return p.Check(f.Key)
	}
	return ""
}

// held is the common part of the values: their location.
type held[T any] struct{ at *T }

func (h held[T]) Get() any       { return *h.at }
func (h held[T]) Set(from Value) { *h.at = from.Get().(T) }
func (h held[T]) String() string { return fmt.Sprint(*h.at) }

// fielded is a part of a study that declares its keys.
type fielded[T any] interface {
	*T
	Fields() []Field
}

// section is a mapping that is absent when all of it is zero.
type section[T comparable, P fielded[T]] struct{ held[T] }

func sectionOf[T comparable, P fielded[T]](at P) Section { return section[T, P]{held[T]{(*T)(at)}} }

func (s section[T, P]) IsZero() bool       { var zero T; return *s.at == zero }
func (s section[T, P]) Fields() []Field    { return P(s.at).Fields() }
func (s section[T, P]) Make()              {}
func (s section[T, P]) Want(string) string { return WantMapping(s.Fields()) }
func (s section[T, P]) String() string     { return sectionText(*s.at, s.Fields()) }

// optional is a mapping that may be present and empty.
type optional[T any, P fielded[T]] struct{ held[*T] }

func optionalOf[T any, P fielded[T]](at **T) Section { return optional[T, P]{held[*T]{at}} }

func (o optional[T, P]) IsZero() bool       { return *o.at == nil }
func (o optional[T, P]) Want(string) string { return WantMapping(o.Fields()) }

func (o optional[T, P]) Fields() []Field {
	if *o.at == nil {
		return P(new(T)).Fields()
	}
	return P(*o.at).Fields()
}

func (o optional[T, P]) Make() { *o.at = new(T) }

func (o optional[T, P]) String() string {
	if *o.at == nil {
		return ""
	}
	return sectionText(**o.at, o.Fields())
}

// sectionText writes a mapping on one line, without absent keys.
func sectionText(v any, fields []Field) string {
	if s, ok := v.(fmt.Stringer); ok {
		return s.String()
	}
	var parts []string
	for _, f := range fields {
		if text := said(f.Value); text != "" {
			parts = append(parts, f.Key+": "+text)
		}
	}
	return strings.Join(parts, ", ")
}

// said is a value on one line, empty if it is absent or "no".
func said(v Value) string {
	if text := v.String(); !v.IsZero() && text != "false" {
		return text
	}
	return ""
}

// WantMapping is the error text that asks for a mapping with the keys of fields.
func WantMapping(fields []Field) string {
	return "a mapping with " + strings.Join(Keys(fields), ", ")
}

// items is a list of parts of a study.
type items[T any, P fielded[T]] struct {
	held[[]T]
	name  string
	short string
	brief bool
}

func listOf[T any, P fielded[T]](at *[]T, name, short string, brief bool) Items {
	return items[T, P]{held[[]T]{at}, name, short, brief}
}

func (l items[T, P]) IsZero() bool          { return *l.at == nil }
func (l items[T, P]) Name() string          { return l.name }
func (l items[T, P]) Short() (string, bool) { return l.short, l.brief }
func (l items[T, P]) Len() int              { return len(*l.at) }
func (l items[T, P]) At(i int) []Field      { return P(&(*l.at)[i]).Fields() }
func (l items[T, P]) New() []Field          { return P(new(T)).Fields() }
func (l items[T, P]) Want(string) string    { return "a list of " + l.name + "s" }

func (l items[T, P]) Add() []Field {
	*l.at = append(*l.at, *new(T))
	return l.At(l.Len() - 1)
}

// sequence is a list of plain values.
type sequence[L ~[]T, T comparable] struct {
	held[L]
	rule Rule
	form form[T]
	want string // with %s for the range
}

func (s sequence[L, T]) IsZero() bool       { return *s.at == nil }
func (s sequence[L, T]) Len() int           { return len(*s.at) }
func (s sequence[L, T]) Want(string) string { return strings.ReplaceAll(s.want, "%s", s.rule.Span()) }

func (s sequence[L, T]) At(i int) Plain {
	if i < len(*s.at) {
		return plainOf(&(*s.at)[i], s.form, s.rule)
	}
	return plainOf(new(T), s.form, s.rule)
}

func (s sequence[L, T]) Read(l Literal) bool {
	var x T
	ok := s.form.read(&x, l)
	if ok {
		*s.at = append(*s.at, x)
	}
	return ok
}

// Texts is a mapping of names to texts.
type Texts struct{ held[map[string]string] }

// IsZero reports whether there are none.
func (t Texts) IsZero() bool { return *t.at == nil }

// String returns the mapping on one line, by name.
func (t Texts) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(*t.at)) {
		parts = append(parts, name+": "+(*t.at)[name])
	}
	return strings.Join(parts, ", ")
}

// Want describes the valid values of the key.
func (t Texts) Want(string) string { return "a mapping of names to plain values" }

// Map returns the mapping.
func (t Texts) Map() map[string]string { return *t.at }

// Put sets the mapping.
func (t Texts) Put(m map[string]string) { *t.at = m }

// SideValue is one side of a comparison.
type SideValue struct{ held[Side] }

// IsZero reports whether the side is absent.
func (s SideValue) IsZero() bool { return *s.at == Side{} }

// Want describes the valid values of the key.
func (s SideValue) Want(string) string {
	return "a name, or a list of two for the ratio of the first to the second"
}

// Side returns the side.
func (s SideValue) Side() Side { return *s.at }

// Put sets the side.
func (s SideValue) Put(side Side) { *s.at = side }
