package study

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxSeed is the largest seed: what a JSON reader keeps exactly (2^53-1).
const MaxSeed = 1<<53 - 1

// rule is what a key may hold. Validation, error texts and the JSON Schema all
// read it.
type rule struct {
	min, max float64  // of a number, in its base unit: bytes, bit/s, ns
	enum     []string // of a text
	pattern  string   // of a text
	words    string   // the pattern for people
	runes    int      // longest text
}

// enginePattern is how an engine is named; docker contexts have names of their own.
const enginePattern = `^(lab|docker(:[A-Za-z0-9][A-Za-z0-9_.+-]*)?|(unix|tcp|ssh)://[^\x00-\x20\x7f]+)$`

// ruleOf gives the rule of a key; keys mean the same wherever they stand.
func ruleOf(key string) rule {
	const day = 24 * time.Hour
	switch key {
	case "id":
		return rule{pattern: `^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`, words: "1 to 64 letters, digits, _, . or -, the first a letter or digit"}
	case "name":
		return rule{pattern: `^[a-z0-9][a-z0-9_.-]{0,63}$`, words: "1 to 64 lower-case letters, digits, _, . or -, the first a letter or digit"}
	case "mode", "workload", "a", "b":
		return rule{words: "a name"} // that there is, as the validator sees to
	case "title":
		return rule{pattern: `^[^\x00-\x1f\x7f-\x9f]*$`, words: "one line of at most 200 characters, none of them a control character", runes: 200}
	case "description":
		return rule{pattern: `^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$`, words: "at most 5000 characters, none of them a control character", runes: 5000}
	case "profile":
		return rule{enum: Profiles()}
	case "seed":
		return rule{min: 1, max: MaxSeed}
	case "blocks":
		return rule{min: 2, max: 1000}
	case "margin":
		return rule{min: 0.001, max: 0.5}
	case "expect":
		return rule{min: 0.001, max: 1000}
	case "min_blocks":
		return rule{min: 2, max: 1000}
	case "extra_blocks":
		return rule{min: 1, max: 100}
	case "width":
		return rule{min: 0.001, max: 0.5}
	case "pilot":
		return rule{min: 0, max: float64(10 * time.Minute)}
	case "renew":
		return rule{min: 1, max: 1000}
	case "steal", "others", "most":
		return rule{min: 0.001, max: 1}
	case "unsettled", "counters":
		return rule{enum: []string{On, Off}}
	case "stacks", "drops":
		return rule{enum: []string{On, Off, AutoWord}}
	case "from_block":
		return rule{min: 1, max: 1000}
	case "settle":
		return rule{min: 0, max: float64(time.Minute)}
	case "max_time":
		return rule{min: float64(time.Second), max: float64(30 * day)}
	case "mtu":
		return rule{min: 1280, max: 9000}
	case "rate":
		return rule{min: 1e6, max: 400e9}
	case "offload":
		return rule{enum: []string{On, Off}}
	case "cpus":
		return rule{min: 0.01, max: 1024}
	case "memory":
		return rule{min: 6 << 20, max: 1 << 40}
	case "engine":
		return rule{pattern: enginePattern, words: "lab, docker, docker:CONTEXT, or an address with unix://, tcp:// or ssh://", runes: 500}
	case "address":
		return rule{pattern: `^[0-9A-Fa-f.:]{2,45}$`, words: "an IPv4 or IPv6 address"}
	}
	return workloadRule(key)
}

func workloadRule(key string) rule {
	switch key {
	case "streams", "flows", "threads":
		return rule{min: 1, max: 1000}
	case "pairs":
		return rule{min: 1, max: 16}
	case "write_size", "request_size", "response_size":
		return rule{min: 1, max: 16 << 20}
	case "payload_size":
		return rule{min: 40, max: 65507}
	case "packet_rate":
		return rule{min: 1, max: 100e6}
	case "transaction_rate":
		return rule{min: 1, max: 10e6}
	case "burst":
		return rule{min: 1, max: 1024}
	case "fragment":
		return rule{enum: []string{On, Off}}
	case "close":
		return rule{enum: []string{FIN, RST}}
	case "tool":
		return rule{enum: append([]string{BuiltIn}, externals()...)}
	case "verify_with":
		return rule{enum: externals()}
	case "send_buffer", "receive_buffer":
		return rule{min: 4 << 10, max: 1 << 30}
	case "direction":
		return rule{enum: []string{Forward, Reverse, Both}}
	case "family":
		return rule{enum: []string{IPv4, IPv6}}
	case "placement":
		return rule{enum: []string{OneCore, TwoCores, Free}}
	case "congestion_control":
		return rule{pattern: `^[a-z0-9_]{1,15}$`, words: "a name of at most 15 lower-case letters, digits or _, such as cubic"}
	case "slice":
		return rule{min: float64(5 * time.Millisecond), max: float64(time.Hour)}
	case "warmup":
		return rule{min: 0, max: float64(10 * time.Minute)}
	case "every", "times":
		return rule{min: 1, max: 1000}
	case "duration", "duration_min", "duration_max":
		return rule{min: float64(100 * time.Millisecond), max: float64(time.Hour)}
	}
	return searchRule(key)
}

// externals are the generators that tare can run instead of its own.
func externals() []string { return []string{"iperf3", "iperf2", "ntttcp"} }

// check says what is wrong with the value v of a key, or nothing.
func check(key string, v reflect.Value) string {
	r := ruleOf(key)
	shown, ok := fmt.Sprint(v.Interface()), true
	switch {
	case v.Kind() == reflect.String:
		shown, ok = quote(v.String()), r.allows(v.String())
	case r.max > 0 && !word(v.Interface()):
		x := magnitude(v)
		ok = r.min <= x && x <= r.max
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("%s is %s; want %s", key, shown, want(key, v.Type()))
}

// word says whether a value is one of those that a word stands for, and no number.
func word(v any) bool {
	return slices.Contains([]any{Auto, Unlimited, NotApplied, RenewOnce, RenewAuto, PassAuto, NoPass}, v)
}

// allows says whether a text keeps to the rule.
func (r rule) allows(s string) bool {
	if len(r.enum) > 0 {
		return slices.Contains(r.enum, s)
	}
	if r.runes > 0 && utf8.RuneCountInString(s) > r.runes {
		return false
	}
	return utf8.ValidString(s) && regexp.MustCompile(r.pattern).MatchString(s)
}

// magnitude is a number in its base unit.
func magnitude(v reflect.Value) float64 {
	switch x := v.Interface().(type) {
	case Duration:
		return float64(x.Std())
	case float64:
		return x
	case Portion:
		return x.Float()
	case Share:
		return float64(x)
	}
	if v.CanUint() {
		return float64(v.Uint())
	}
	return float64(v.Int())
}

// show writes a bound in the unit of a key's type.
func show(t reflect.Type, x float64) string {
	switch t {
	case reflect.TypeFor[Duration]():
		return Duration(x).String()
	case reflect.TypeFor[Size](), reflect.TypeFor[BufferSize]():
		return Size(x).String()
	case reflect.TypeFor[Rate](), reflect.TypeFor[Load](), reflect.TypeFor[Rates](), reflect.TypeFor[PassRate]():
		return Rate(x).String()
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// want says what a key takes, for the second half of an error.
func want(key string, t reflect.Type) string {
	r := ruleOf(key)
	if len(r.enum) > 0 {
		return either(r.enum)
	}
	span := show(t, r.min) + " to " + show(t, r.max)
	switch t {
	case reflect.TypeFor[Duration]():
		return "a duration of " + span + ", written with its unit, such as 1.5s"
	case reflect.TypeFor[Size]():
		return span + ", in bytes or with KiB, MiB or GiB"
	case reflect.TypeFor[BufferSize]():
		return "auto, or " + span + ", in bytes or with KiB, MiB or GiB"
	case reflect.TypeFor[Rate]():
		return "a rate of " + span + ", such as 1Gbit/s"
	case reflect.TypeFor[Load]():
		return "unlimited, or a rate of " + span + ", such as 1Gbit/s"
	case reflect.TypeFor[PassRate]():
		return "auto, off, or a rate of " + span + ", such as 1Gbit/s"
	case reflect.TypeFor[*bool](), reflect.TypeFor[bool]():
		return "true or false"
	case reflect.TypeFor[Share]():
		return "off, or a number from " + span
	case reflect.TypeFor[Renew]():
		return "once, auto, or every so many blocks, " + span
	case reflect.TypeFor[Side]():
		return "a name, or a list of two for the ratio of the first to the second"
	case reflect.TypeFor[[]Comparison]():
		return "a list of comparisons"
	}
	switch t {
	case reflect.TypeFor[LossGoals]():
		return "a list of loss ratios of " + span + ", such as [0, 0.01]"
	case reflect.TypeFor[Rates]():
		return "a list of rates, such as [100Mbit/s, 200Mbit/s], or a mapping with from, to and steps"
	case reflect.TypeFor[Portion]():
		return "a number from " + span
	}
	switch t.Kind() {
	case reflect.Pointer:
		return want(key, t.Elem())
	case reflect.Struct:
		return "a mapping with " + strings.Join(keys(t), ", ")
	case reflect.Map:
		return "a mapping of names to plain values"
	case reflect.Slice:
		return "a list of " + key
	case reflect.Float64:
		return "a number from " + span
	case reflect.String:
		return r.words
	}
	return "a whole number from " + span
}

// either joins names with commas and an "or".
func either(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
