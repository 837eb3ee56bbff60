package study

import (
	"fmt"
	"reflect"
)

// Setting is one key of a workload with its value as a study file writes it.
type Setting struct{ Key, Value string }

// Settings lists what is set of a workload, in the order of the file's keys.
func (w Workload) Settings() []Setting {
	var out []Setting
	v := reflect.ValueOf(w)
	for _, f := range fields(v.Type()) {
		if x := v.Field(f.index); !x.IsZero() {
			out = append(out, Setting{f.key, fmt.Sprint(reflect.Indirect(x).Interface())})
		}
	}
	return out
}
