package study

import (
	"fmt"
	"slices"
	"strings"
)

// Field is one key of a mapping in a study, bound to the place of its value. The
// Fields methods of Study and its parts declare all keys there are, each in one
// line: reading, checking, defaults, differences, writing and the JSON Schema walk
// these declarations and nothing else.
type Field struct {
	Key      string
	Doc      string // for the JSON Schema
	Required bool   // an item without it is none, so it is written always
	Value    Value
}

// Value is what stands behind a key: a Plain, a Sequence, a Section, an Items,
// a Texts or a SideValue.
type Value interface {
	// IsZero reports whether the key is absent.
	IsZero() bool
	// String writes the value as a study file has it, on one line.
	String() string
	// Want says what the key takes, for the second half of an error.
	Want(key string) string
	// Get gives the value itself.
	Get() any
	// Set takes over the value of another Value of the same key.
	Set(from Value)
}

// Plain is a single value: a number, a text, a quantity with its unit.
type Plain interface {
	Value
	Rule() Rule
	// Read takes a literal, if it is of the value's kind.
	Read(l Literal) bool
	// Check says what is wrong with the value by its rule, or nothing.
	Check(key string) string
	// Native is the value as YAML writes it: a text, a number or a truth value.
	Native() any
}

// Sequence is a list of plain values of one rule, in ascending order.
type Sequence interface {
	Value
	Len() int
	// At gives an element; of a new one where there is no such.
	At(i int) Plain
	// Read appends a literal, if it is of the elements' kind.
	Read(l Literal) bool
}

// Section is a mapping with keys of its own.
type Section interface {
	Value
	Fields() []Field
	// Make makes an absent section an empty one, where a study tells these apart.
	Make()
}

// Items is a list of mappings.
type Items interface {
	Value
	Name() string // of an item
	// Short is the key that an item's plain name stands for, empty where it stands for
	// none. Brief items are also written so when nothing else is said of them.
	Short() (key string, brief bool)
	Len() int
	At(i int) []Field
	Add() []Field // appends an empty item
	New() []Field // of an item that belongs to no list
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

// Check says what is wrong with a plain value by its rule, or nothing.
func (f Field) Check() string {
	if p, ok := f.Value.(Plain); ok {
		return p.Check(f.Key)
	}
	return ""
}

// held is what the values have in common: where they are.
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

// optional is a mapping that may be there and empty.
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

// sectionText writes a mapping on one line, less what is absent in it.
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

// said is a value on one line, empty where nothing is said or no is.
func said(v Value) string {
	if text := v.String(); !v.IsZero() && text != "false" {
		return text
	}
	return ""
}

// WantMapping says that a mapping with the keys of fields is wanted.
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
	want string // with %s for the span
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

// Want says what the key takes.
func (t Texts) Want(string) string { return "a mapping of names to plain values" }

// Map is the mapping itself.
func (t Texts) Map() map[string]string { return *t.at }

// Put sets it.
func (t Texts) Put(m map[string]string) { *t.at = m }

// SideValue is one side of a comparison.
type SideValue struct{ held[Side] }

// IsZero reports whether the side is absent.
func (s SideValue) IsZero() bool { return *s.at == Side{} }

// Want says what the key takes.
func (s SideValue) Want(string) string {
	return "a name, or a list of two for the ratio of the first to the second"
}

// Side is the side itself.
func (s SideValue) Side() Side { return *s.at }

// Put sets it.
func (s SideValue) Put(side Side) { *s.at = side }
