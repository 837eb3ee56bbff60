package study

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// field is a struct field as a study file names it.
type field struct {
	key   string
	index int
	typ   reflect.Type
}

// fields lists the fields of a struct type in order. The yaml tags are the one
// place where a key's name stands.
func fields(t reflect.Type) []field {
	all := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		all = append(all, field{key: key, index: i, typ: t.Field(i).Type})
	}
	return all
}

// keys lists the keys of a struct type.
func keys(t reflect.Type) []string {
	all := make([]string, 0, t.NumField())
	for _, f := range fields(t) {
		all = append(all, f.key)
	}
	return all
}

// member finds the field of struct v that has the key.
func member(v reflect.Value, key string) (reflect.Value, bool) {
	for _, f := range fields(v.Type()) {
		if f.key == key {
			return v.Field(f.index), true
		}
	}
	return reflect.Value{}, false
}

// unknownKey says that a mapping of type t has no such key. If none of its own
// is near, the key may be that of another mapping.
func unknownKey(key, where string, t reflect.Type, allowed []string) string {
	if _, near := nearest(key, allowed); near {
		return unknown("key", key, where, allowed)
	}
	for _, home := range []struct {
		typ   reflect.Type
		place string
	}{
		{reflect.TypeFor[Study](), "at the top level"},
		{reflect.TypeFor[Lab](), "under lab"},
		{reflect.TypeFor[Workload](), "in an entry of workloads"},
		{reflect.TypeFor[Mode](), "in an entry of modes"},
		{reflect.TypeFor[Scenario](), "in an entry of scenarios"},
		{reflect.TypeFor[Comparison](), "in an entry of compare"},
		{reflect.TypeFor[Host](), "in an entry of hosts"},
		{reflect.TypeFor[Stop](), "under stop"},
		{reflect.TypeFor[Invalid](), "under invalid"},
		{reflect.TypeFor[Evidence](), "under evidence"},
		{reflect.TypeFor[CostPass](), "under cost_pass"},
		{reflect.TypeFor[Limits](), "under limits"},
		{reflect.TypeFor[Limit](), "under client or server of limits"},
	} {
		if home.typ != t && slices.Contains(keys(home.typ), key) {
			return fmt.Sprintf("unknown key %s%s; it belongs %s", quote(key), where, home.place)
		}
	}
	return unknown("key", key, where, allowed)
}

// leaf says whether a field holds one value rather than a list or a mapping.
func leaf(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		return t.Elem().Kind() != reflect.Struct
	}
	return t.Kind() != reflect.Slice && t.Kind() != reflect.Struct && t.Kind() != reflect.Map
}

// itemName is what an item of a list is called. Of those that a plain name can
// stand for, it is the key of that name, too.
func itemName(t reflect.Type) string { return strings.ToLower(t.Name()) }
