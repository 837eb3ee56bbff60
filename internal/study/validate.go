package study

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// problem is what is wrong with the value at a path such as workloads[1].streams.
type problem struct{ path, text string }

// validator collects problems. With a source it knows which keys a file named
// and where; without, a zero value is a key left out.
type validator struct {
	cat      Catalog
	src      *source
	problems []problem
}

// validate checks all that is said in s and asks for nothing that is not.
func validate(s Study, cat Catalog, src *source) []problem {
	v := validator{cat: cat, src: src}
	v.fields(reflect.ValueOf(s), "", keys(reflect.TypeFor[Study]()))
	v.fields(reflect.ValueOf(s.Lab), "lab.", keys(reflect.TypeFor[Lab]()))
	v.modes(s.Modes)
	v.workloads(s.Workloads)
	return v.problems
}

func (v *validator) add(path, format string, args ...any) {
	v.problems = append(v.problems, problem{path, fmt.Sprintf(format, args...)})
}

// said says whether a key was given: in the file, or by a value.
func (v *validator) said(path string, f reflect.Value) bool {
	return !f.IsZero() || v.src != nil && v.src.lines[path] > 0
}

// readable is false for what the reader has complained about already.
func (v *validator) readable(path string) bool {
	return v.src == nil || !v.src.failed[path]
}

// fields checks the values of a struct that have the given keys, each against
// its key's rule.
func (v *validator) fields(s reflect.Value, prefix string, only []string) {
	for _, f := range fields(s.Type()) {
		path, val := prefix+f.key, s.Field(f.index)
		if !leaf(f.typ) || !slices.Contains(only, f.key) || !v.said(path, val) || !v.readable(path) {
			continue
		}
		if text := check(f.key, val); text != "" {
			v.add(path, "%s", text)
		}
	}
}

func (v *validator) modes(ids []string) {
	first := map[string]string{}
	for i, id := range ids {
		path := fmt.Sprintf("modes[%d]", i)
		if !v.readable(path) {
			continue
		}
		if _, ok := v.cat.Mode(id); !ok {
			v.add(path, "%s", unknown("mode", id, "", v.cat.modeIDs()))
			continue
		}
		if before, again := first[id]; again {
			v.add(path, "duplicate mode %q%s", id, v.already(before))
			continue
		}
		first[id] = path
	}
}

func (v *validator) workloads(all []Workload) {
	first := map[string]string{}
	for i, w := range all {
		path := fmt.Sprintf("workloads[%d]", i)
		if !v.readable(path) || !v.readable(path+".workload") {
			continue
		}
		spec, ok := v.cat.Workload(w.Kind)
		if !ok {
			v.fields(reflect.ValueOf(w), path+".", keys(reflect.TypeFor[Workload]()))
			v.kind(path, w.Kind)
			continue
		}
		v.fields(reflect.ValueOf(w), path+".", spec.keys())
		v.params(path+".", w, spec)
		at := path
		if w.ID != "" {
			at = path + ".id"
			if _, taken := v.cat.Workload(w.ID); taken && w.ID != w.Kind {
				v.add(at, "id %q is the name of another workload; choose one that is not", w.ID)
			}
		}
		if before, again := first[w.Name()]; again {
			v.add(at, "duplicate workload %q%s; give one of them an id of its own", w.Name(), v.already(before))
			continue
		}
		first[w.Name()] = at
	}
}

// kind says what is wrong with a workload's kind.
func (v *validator) kind(path, kind string) {
	if v.src != nil && v.src.lines[path+".workload"] > 0 {
		path += ".workload"
	} else if kind == "" {
		v.add(path, "a workload without its name; want the key workload with %s", either(v.cat.kinds()))
		return
	}
	v.add(path, "%s", unknown("workload", kind, "", v.cat.kinds()))
}

// params finds parameters that the workload's kind does not take.
func (v *validator) params(prefix string, w Workload, spec WorkloadSpec) {
	s := reflect.ValueOf(w)
	for _, f := range fields(s.Type()) {
		if v.said(prefix+f.key, s.Field(f.index)) && !slices.Contains(spec.keys(), f.key) {
			v.add(prefix+f.key, "%s does not take %s; allowed: %s", spec.Kind, f.key, strings.Join(spec.keys(), ", "))
		}
	}
}

// already says where the first of two stands, if that is known.
func (v *validator) already(path string) string {
	if v.src == nil {
		return ""
	}
	return fmt.Sprintf("; it stands on line %d already", v.src.lines[path])
}

// place names the mapping a path lies in, for errors without a line.
func place(path string) string {
	if i := strings.LastIndex(path, "."); i >= 0 {
		return path[:i] + ": "
	}
	return ""
}
