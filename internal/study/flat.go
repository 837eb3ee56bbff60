package study

import (
	"fmt"
	"slices"
	"strings"
)

// Flat lists the values that fields set, by key, as written in a study file. The keys of
// a part follow that of the part after a dot, and elements of a list are numbered from 1.
// It leaves out absent values and the keys of skip, which may name a part or a key in it.
func Flat(fields []Field, skip ...string) map[string]string {
	out := map[string]string{}
	flatten(out, "", fields, skip)
	return out
}

func flatten(out map[string]string, prefix string, fields []Field, skip []string) {
	for _, f := range fields {
		name := prefix + f.Key
		if f.Value.IsZero() || slices.Contains(skip, name) {
			continue
		}
		value := f.Value
		if c, is := value.(CountsValue); is {
			value = c.Part()
		}
		switch v := value.(type) {
		case Section:
			flatten(out, name+".", v.Fields(), skip)
		case Items:
			for i := range v.Len() {
				flatten(out, fmt.Sprintf("%s.%d.", name, i+1), v.At(i), skip)
			}
		case Sequence:
			var all []string
			for i := range v.Len() {
				all = append(all, v.At(i).String())
			}
			out[name] = strings.Join(all, ", ")
		case Texts:
			for k, text := range v.Map() {
				out[name+"."+k] = text
			}
		case Plain:
			out[name] = v.String()
		}
	}
}
