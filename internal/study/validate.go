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
	v.all(s.Lab, "lab.")
	v.limits(s.Limits, "limits.")
	v.engines(s)
	v.method(s)
	v.all(s.Evidence, "evidence.")
	v.costPass(s)
	v.modes(s.Modes)
	for i, m := range s.Modes {
		v.lab(fmt.Sprintf("modes[%d]", i), m, s.Target())
	}
	v.workloads(s.Workloads)
	v.scenarios(s)
	v.compare(s)
	return v.problems
}

// all checks every value of a struct.
func (v *validator) all(s any, prefix string) {
	v.fields(reflect.ValueOf(s), prefix, keys(reflect.TypeOf(s)))
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
		v.together(path+".", w, spec)
		at := path
		if w.ID != "" {
			at = path + ".id"
			if _, taken := v.cat.Workload(w.ID); taken && w.ID != w.Kind {
				v.add(at, "id %q is the name of another workload; choose one that is not", w.ID)
			}
			if w.ID == CostPassID {
				v.add(at, "id %q is the name of the pass at a fixed rate; choose another", w.ID)
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
	if path = v.key(path, "workload"); kind == "" && !strings.HasSuffix(path, ".workload") {
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

// together checks what the keys of one workload say of each other.
func (v *validator) together(prefix string, w Workload, spec WorkloadSpec) {
	fail := func(key, format string, args ...any) {
		if v.readable(prefix + key) {
			v.add(prefix+key, format, args...)
		}
	}
	if d := w.Direction; d == Both && !slices.Contains(spec.Directions, Both) {
		fail("direction", "direction is %q, which %s does not know; want forward or reverse", d, spec.Kind)
	}
	if t := w.Tool; t != "" && t != BuiltIn && !slices.Contains(spec.Tools, t) {
		fail("tool", "tool is %q, which cannot make %s; want %s", t, spec.Kind, either(append([]string{BuiltIn}, spec.Tools...)))
	}
	if t := w.VerifyWith; t != "" {
		switch {
		case !slices.Contains(spec.Tools, t) || t == BuiltIn:
			fail("verify_with", "verify_with is %q, which is no external generator of %s; want %s", t, spec.Kind, either(spec.Tools))
		case t == w.Tool:
			fail("verify_with", "verify_with is %q, as is tool: the two would agree with themselves", t)
		}
	}
	if w.Rate > 0 && w.PacketRate > 0 {
		fail("packet_rate", "packet_rate and rate both say how much to offer; leave one of them out")
	}
	if n := max(w.Streams, w.Flows); w.Threads > 0 && n > 0 && w.Threads > n {
		fail("threads", "threads is %d for %d streams; want at most one each", w.Threads, n)
	}
	v.search(prefix, w)
	v.lengths(prefix, w)
	if why := whole(w, spec); why != "" && w.Slice > 0 && w.Duration > 0 && w.Slice < w.Duration {
		fail("slice", "slice is %s, but %s; leave slice out", w.Slice, why)
	}
}

// already says where the first of two stands, if that is known.
func (v *validator) already(path string) string {
	if v.src == nil {
		return ""
	}
	return fmt.Sprintf("; it stands on line %d already", v.src.lines[path])
}

// key is the path of a key of an item where the file has it, else the item's.
func (v *validator) key(path, key string) string {
	if v.src != nil && v.src.lines[path+"."+key] > 0 {
		return path + "." + key
	}
	return path
}

// place names the mapping a path lies in, for errors without a line.
func place(path string) string {
	if i := strings.LastIndex(path, "."); i >= 0 {
		return path[:i] + ": "
	}
	return ""
}
