package study_test

import (
	"reflect"
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/must"
)

// Every field of a part of a study is declared once, with a key of its own and what an
// editor shows of it.
func TestFieldsAreDeclared(t *testing.T) {
	declared := func(part interface{ Fields() []study.Field }) {
		t.Helper()
		typ, fields := reflect.TypeOf(part).Elem(), part.Fields()
		var own, lists []reflect.StructField // lists share the key of a number
		for i := range typ.NumField() {
			if f := typ.Field(i); f.Type == reflect.TypeFor[study.Counts]() {
				lists = append(lists, f)
			} else {
				own = append(own, f)
			}
		}
		if len(fields) != len(own) {
			t.Errorf("%s has %d fields and declares %d", typ.Name(), len(own), len(fields))
			return
		}
		// set gives a field a value, which only the declaration at has then.
		set := func(f reflect.StructField, at int) {
			reflect.ValueOf(part).Elem().FieldByIndex(f.Index).Set(something(f.Type))
			for i, other := range fields {
				must.True(t, other.Value.IsZero() == (i != at), "%s.%s is set, and %s is not what says so alone", typ.Name(), f.Name, other.Key)
			}
			reflect.ValueOf(part).Elem().SetZero()
		}
		keys := map[string]bool{}
		for i, f := range fields {
			must.True(t, f.Key != "" && !keys[f.Key] && f.Doc != "", "%s.%s: key %q, shown as %q", typ.Name(), own[i].Name, f.Key, f.Doc)
			keys[f.Key] = true
			if got := reflect.TypeOf(f.Value.Get()); got != own[i].Type {
				t.Errorf("%s.%s is of type %s, and its declaration, %s, stands for a %s", typ.Name(), own[i].Name, own[i].Type, f.Key, got)
				continue
			}
			set(own[i], i)
			if _, either := f.Value.(study.CountsValue); either {
				if len(lists) == 0 {
					t.Errorf("%s.%s takes a list, which has no field", typ.Name(), own[i].Name)
					continue
				}
				set(lists[0], i)
				lists = lists[1:]
			}
		}
		if len(lists) > 0 {
			t.Errorf("%s.%s is a list that no key takes", typ.Name(), lists[0].Name)
		}
	}
	for _, part := range []interface{ Fields() []study.Field }{
		new(study.Study), new(study.Lab), new(study.Workload), new(study.Mode), new(study.Scenario), new(study.Comparison), new(study.Host),
		new(study.Limits), new(study.Limit), new(study.Stop), new(study.Invalid), new(study.Evidence), new(study.CostPass), new(study.RateRange),
	} {
		declared(part)
	}
}

// something is a value of a type that is not its zero value.
func something(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
	case reflect.Struct:
		v.Field(0).Set(something(t.Field(0).Type))
	}
	return v
}
