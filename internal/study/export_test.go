package study

import "reflect"

// Documented lists, for each key, the texts that its row of docs/study.md must
// have: the bounds and the allowed names.
func Documented() map[string][]string {
	all := map[string][]string{}
	for _, t := range []reflect.Type{
		reflect.TypeFor[Study](), reflect.TypeFor[Lab](), reflect.TypeFor[Workload](), reflect.TypeFor[Mode](),
		reflect.TypeFor[Scenario](), reflect.TypeFor[Comparison](), reflect.TypeFor[Host](), reflect.TypeFor[Stop](), reflect.TypeFor[Invalid](), reflect.TypeFor[Evidence](), reflect.TypeFor[CostPass](),
		reflect.TypeFor[Limits](), reflect.TypeFor[Limit](),
	} {
		for _, f := range fields(t) {
			r := ruleOf(f.key)
			all[f.key] = nil
			if r.max > 0 {
				all[f.key] = append(all[f.key], show(f.typ, r.min)+" to "+show(f.typ, r.max))
			}
			for _, name := range r.enum {
				all[f.key] = append(all[f.key], "`"+name+"`")
			}
		}
	}
	return all
}
