package study

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/study/quantity"
	"tare/internal/study/suggest"
	"tare/internal/unit"
)

// Problem is a problem of the value at a path such as workloads[1].streams.
type Problem struct{ Path, Text string }

// Source describes the file that a study was read from.
type Source interface {
	// Line is the line of the path, 0 if the file does not contain it.
	Line(path string) int
	// Unreadable reports whether the reader has already reported the value.
	Unreadable(path string) bool
}

// validator collects problems. With a source it knows which keys the file contains and on
// which line; without one, a zero value is an absent key.
type validator struct {
	cat Catalog
	findings
}

// findings are the problems of a study, with where it was read from.
type findings struct {
	src      Source // nil without a file
	problems []Problem
}

// Check checks all values that are set in s and does not require others. Src is nil for a
// study without a file.
func Check(s Study, cat Catalog, src Source) []Problem {
	v := validator{cat: cat, findings: findings{src: src}}
	v.all(s.Fields(), "")
	v.all(s.Lab.Fields(), "lab.")
	v.limits(s.Limits, "limits.")
	v.hosts(s)
	v.cluster(s)
	v.network(s)
	v.method(s)
	v.all(s.Evidence.Fields(), "evidence.")
	v.costPass(s)
	v.modes(s.Modes)
	for i, m := range s.Modes {
		v.lab(fmt.Sprintf("modes[%d]", i), m, s.Target())
	}
	v.tunnelMTUs(s)
	v.workloads(s.Workloads)
	v.setUps(s)
	v.events(s)
	v.scenarios(s)
	v.compare(s)
	v.costByParts(s)
	claimRules{&v, s}.check()
	return v.problems
}

func (v *findings) add(path, format string, args ...any) {
	v.problems = append(v.problems, Problem{path, fmt.Sprintf(format, args...)})
}

// line is the line of a path in the file, 0 without a file.
func (v *findings) line(path string) int {
	if v.src == nil {
		return 0
	}
	return v.src.Line(path)
}

// said reports whether a key was set: in the file, or by a value.
func (v *findings) said(path string, f Field) bool { return !f.Value.IsZero() || v.line(path) > 0 }

// readable reports whether the reader has not already reported the value.
func (v *findings) readable(path string) bool { return v.src == nil || !v.src.Unreadable(path) }

// all checks the plain values of a mapping against their rules: those of the given keys,
// or all without any.
func (v *validator) all(fields []Field, prefix string, only ...string) {
	for _, f := range fields {
		path := prefix + f.Key
		if only != nil && !slices.Contains(only, f.Key) || !v.said(path, f) || !v.readable(path) {
			continue
		}
		if text := f.Check(); text != "" && !v.isTarget(f) {
			v.add(path, "%s", text)
		}
	}
}

// isTarget reports whether a field names a target of a kind that the catalog knows.
func (v *validator) isTarget(f Field) bool {
	p, is := f.Value.(Plain)
	return is && p.Rule().Target && v.cat.Target != nil && v.cat.Target(p.String())
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
			v.all(w.Fields(), path+".")
			v.kind(path, w.Kind)
			continue
		}
		v.all(w.Fields(), path+".", spec.Keys()...)
		v.params(path+".", w, spec)
		v.together(path+".", w, spec)
		at := path
		if w.ID != "" {
			at = path + ".id"
			if _, taken := v.cat.Workload(w.ID); taken && w.ID != w.Kind {
				v.add(at, "id %q is the name of another workload; choose another id", w.ID)
			}
			if w.ID == CostPassID {
				v.add(at, "id %q is the name of the cost pass; choose another id", w.ID)
			}
		}
		if before, again := first[w.Name()]; again {
			v.add(at, "duplicate workload %q%s; give one of them another id", w.Name(), v.already(before))
			continue
		}
		first[w.Name()] = at
	}
}

// kind returns what is wrong with a workload's kind.
func (v *validator) kind(path, kind string) {
	if path = v.key(path, "workload"); kind == "" && !strings.HasSuffix(path, ".workload") {
		v.add(path, "workload without a name; want the key workload with %s", suggest.Either(v.cat.Kinds()))
		return
	}
	v.add(path, "%s", suggest.Unknown("workload", kind, "", v.cat.Kinds()))
}

// params reports parameters that the workload's kind does not take.
func (v *validator) params(prefix string, w Workload, spec WorkloadSpec) {
	allowed := spec.Keys()
	for _, f := range w.Fields() {
		if v.said(prefix+f.Key, f) && !slices.Contains(allowed, f.Key) {
			v.add(prefix+f.Key, "%s does not take %s; allowed: %s", spec.Kind, f.Key, strings.Join(allowed, ", "))
		}
	}
}

// together checks that the keys of one workload are consistent.
func (v *validator) together(prefix string, w Workload, spec WorkloadSpec) {
	fail := func(key, format string, args ...any) {
		if v.readable(prefix + key) {
			v.add(prefix+key, format, args...)
		}
	}
	if d := w.Direction; d == Both && !slices.Contains(spec.Directions, Both) {
		fail("direction", "direction is %q, which %s does not support; want forward or reverse", d, spec.Kind)
	}
	if t := w.Tool; t != "" && t != BuiltIn && !slices.Contains(spec.Tools, t) {
		fail("tool", "tool is %q, which cannot generate %s; want %s", t, spec.Kind, suggest.Either(append([]string{BuiltIn}, spec.Tools...)))
	}
	if t := w.VerifyWith; t != "" {
		switch {
		case !slices.Contains(spec.Tools, t) || t == BuiltIn:
			fail("verify_with", "verify_with is %q, which is not an external generator of %s; want %s", t, spec.Kind, suggest.Either(spec.Tools))
		case t == w.Tool:
			fail("verify_with", "verify_with and tool are both %q; want two different tools", t)
		}
	}
	if w.Rate > 0 && w.PacketRate > 0 {
		fail("packet_rate", "packet_rate and rate both set the load; remove one of them")
	}
	n := max(w.Streams, w.Flows)
	if _, list := w.Concurrency(); len(list) > 0 {
		n = list[0]
	}
	if w.Threads > 0 && n > 0 && w.Threads > n {
		fail("threads", "threads is %d for %s; want at most one each", w.Threads, unit.Count(n, "stream", "streams"))
	}
	v.generated(prefix, w, spec)
	v.pacing(prefix, w, spec)
	v.secured(prefix, w)
	v.pipelined(prefix, w)
	if w.Messages > 0 && w.Streaming != ServerStreams {
		fail("messages", "messages is %d, but each call is answered with one without streaming: server; set it or remove messages", w.Messages)
	}
	v.mixed(prefix, w)
	v.event(prefix, w, spec)
	v.fanIn(prefix, w, spec)
	v.search(prefix, w)
	v.concurrency(prefix, w, spec)
	v.lengths(prefix, w)
	if why := whole(w, spec); why != "" && w.Slice > 0 && w.Duration > 0 && w.Slice < w.Duration {
		fail("slice", "slice is %s, but %s; remove slice", w.Slice, why)
	}
}

// generated checks that the external generators of a workload, also the one that verifies it, support its keys.
func (v *validator) generated(prefix string, w Workload, spec WorkloadSpec) {
	if v.cat.Lacks == nil {
		return
	}
	for _, by := range []Setting{{"tool", w.Tool}, {"verify_with", w.VerifyWith}} {
		if !slices.Contains(spec.Tools, by.Value) {
			continue // the built-in generator, none, or one that together reports
		}
		lacks := map[string]string{}
		for _, p := range v.cat.Lacks(by.Value, w) {
			lacks[p.Path] = p.Text
		}
		for _, f := range w.Fields() {
			if why := lacks[f.Key]; why != "" && slices.Contains(spec.Keys(), f.Key) && v.readable(prefix+f.Key) {
				v.add(prefix+f.Key, "%s is %q, and %s is %q: %s", f.Key, f.Value, by.Key, by.Value, why)
			}
		}
	}
}

// pacing checks how a workload waits for its schedule. Another generator, or one that sends as fast as it
// can, has none to wait for.
func (v *validator) pacing(prefix string, w Workload, spec WorkloadSpec) {
	external := w.Tool != "" && w.Tool != BuiltIn
	scheduled, load := true, "transaction_rate"
	switch {
	case slices.Contains(spec.Optional, "transaction_rate"):
		scheduled = w.TransactionRate > 0
	case w.Rate == quantity.Unlimited:
		scheduled, load = false, "a rate"
	}
	for _, set := range []Setting{{"wait", w.Wait}, {"scheduling", w.Scheduling}} {
		switch {
		case set.Value == "" || external || !v.readable(prefix+set.Key) || !slices.Contains(spec.Keys(), set.Key):
		case !scheduled:
			v.add(prefix+set.Key, "%s is %q, but %s has no schedule without %s; set it or remove %s", set.Key, set.Value, spec.Kind, load, set.Key)
		}
	}
	if w.Wait == Spin && w.Scheduling == FIFOScheduling && v.readable(prefix+"scheduling") {
		v.add(prefix+"scheduling", "scheduling is %q with wait %q: such a thread never leaves its CPU to the other endpoint, and the kernel stops it for 5 %% of the time; remove one of them", w.Scheduling, w.Wait)
	}
}

// secured checks what TLS allows.
func (v *validator) secured(prefix string, w Workload) {
	n := max(w.Flows, w.FlowCounts.most())
	switch {
	case w.TLS == On && n > MostTLSFlows && n <= mostFlows && v.readable(prefix+"flows"):
		v.add(prefix+"flows", "%d flows with tls, which has at most %d: each needs a thread; use fewer or remove tls", n, MostTLSFlows)
	case w.Resumption != On || !v.readable(prefix+"resumption"):
	case w.TLS != On:
		v.add(prefix+"resumption", "resumption is on, but there is no TLS session without tls: on; set it or remove resumption")
	case w.KeepAlive != Off:
		v.add(prefix+"resumption", "resumption is on, but each flow has one connection and resumes nothing; set keep_alive: off or remove resumption")
	}
}

// pipelined checks what a pipeline allows.
func (v *validator) pipelined(prefix string, w Workload) {
	largest := max(w.RequestSize, w.ResponseSize)
	switch {
	case w.Pipeline <= 1 || !v.readable(prefix+"pipeline"):
	case w.TransactionRate > 0:
		v.add(prefix+"pipeline", "pipeline is %d, which sends a request when a response has arrived, and transaction_rate sends it when it is due; remove one of them", w.Pipeline)
	case int64(w.Pipeline)*int64(largest) > mostInProgress:
		v.add(prefix+"pipeline", "pipeline is %d with messages of %s: more than 1GiB in progress; use fewer, or smaller ones", w.Pipeline, largest)
	}
}

// already returns where the first of two is, if known.
func (v *findings) already(path string) string {
	if v.src == nil {
		return ""
	}
	return fmt.Sprintf("; it is already on line %d", v.src.Line(path))
}

// key is the path of a key of an item if the file contains it, else the item's.
func (v *findings) key(path, key string) string {
	if v.line(path+"."+key) > 0 {
		return path + "." + key
	}
	return path
}

// place names the mapping that contains a path, for errors without a line.
func place(path string) string {
	if i := strings.LastIndex(path, "."); i >= 0 {
		return path[:i] + ": "
	}
	return ""
}
