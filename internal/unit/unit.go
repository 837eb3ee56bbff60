// Package unit knows the units of rates, times, shares and sizes in the spellings that programs and
// people write, what they are in base units, and whether more or less of them is better.
package unit

import "strings"

// The directions: which values of a unit are better.
const (
	Higher = "higher"
	Lower  = "lower"
)

// The base units of rates, times, shares and sizes. A time per transaction, and the like, is in
// s/transaction.
const (
	Bits   = "bit/s"
	Bytes  = "B/s"
	Events = "1/s"
	Second = "s"
	Ratio  = "ratio"
	Byte   = "B"
)

// Unit is what a unit is in its base unit: Times/Over of it. It is a quotient, so that 3 ms is exactly
// 0.003 and not a neighbouring float. Better is Higher, Lower, or empty where the unit does not tell.
type Unit struct {
	Base        string
	Times, Over float64
	Better      string
}

// In converts a value to the base unit.
func (u Unit) In(v float64) float64 { return v * u.Times / u.Over }

// To is the unit with another base unit; ok is false if there is no way from one to the other.
func (u Unit) To(base string) (to Unit, ok bool) {
	switch {
	case u.Base == base:
	case u.Base == Bytes && base == Bits:
		u.Times *= 8
	case u.Base == Bits && base == Bytes:
		u.Over *= 8
	case strings.HasPrefix(u.Base, "s/") && base == Second: // the time that one of them takes
	default:
		return u, false
	}
	u.Base = base
	return u, true
}

// Parse reads a unit as tools print it: usec, Gbits/sec, bits_per_second, 10^6bits/s, KiB/s, Trans/sec,
// kpps, usec/tran, %. The case of a prefix and of b and B matters, as in Mb/s and MB/s. An unknown
// unit is its own base unit, without a direction, and known is false.
func Parse(text string) (u Unit, known bool) {
	text = strings.TrimSpace(text)
	plain := strings.NewReplacer("µ", "u", "μ", "u").Replace(text) // micro sign, Greek letter
	if u, known = fixed[plain]; known {
		return u, true
	}
	if over, ok := times[casing(plain)]; ok {
		over.Base, over.Better = Second, Lower
		return over, true
	}
	if what, ok := perSecond(plain); ok {
		return rate(what, text)
	}
	if what, each, ok := strings.Cut(plain, "/"); ok {
		if u, known = timePer(what, each); known {
			return u, true
		}
	}
	if u, known = size(plain); known {
		return u, true
	}
	return Unit{Base: text, Times: 1, Over: 1}, false
}

// fixed are units that follow no rule.
var fixed = map[string]Unit{
	"bps": {Bits, 1, 1, Higher}, "Bps": {Bytes, 1, 1, Higher}, "pps": {Events, 1, 1, Higher}, "Hz": {Events, 1, 1, Higher}, "hz": {Events, 1, 1, Higher}, "/s": {Events, 1, 1, Higher},
	"1/s": {Events, 1, 1, Higher}, "1/sec": {Events, 1, 1, Higher}, "%": {Ratio, 1, 100, ""}, "percent": {Ratio, 1, 100, ""}, "pct": {Ratio, 1, 100, ""},
	"ratio": {Ratio, 1, 1, ""}, "ppm": {Ratio, 1, 1e6, ""}, "allocs/op": {"allocs/op", 1, 1, Lower}, "B/op": {"B/op", 1, 1, Lower},
}

// times are the units of time, the long ones in lower case.
var times = func() map[string]Unit {
	out := map[string]Unit{}
	for names, u := range map[string]Unit{
		"ns nsec nsecs nano nanos nanosecond nanoseconds": {Times: 1, Over: 1e9}, "us usec usecs micro micros microsecond microseconds": {Times: 1, Over: 1e6},
		"ms msec msecs milli millis millisecond milliseconds": {Times: 1, Over: 1e3}, "s sec secs second seconds": {Times: 1, Over: 1},
		"min mins minute minutes": {Times: 60, Over: 1},
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = u
		}
	}
	return out
}()

// casing is a word in lower case. Two letters stay as they are: ms is a time, and MS is none.
func casing(word string) string {
	if len(word) <= 2 {
		return word
	}
	return strings.ToLower(word)
}

// perSecond removes the ending that says "in a second", in any of its forms.
func perSecond(text string) (what string, ok bool) {
	lower := strings.ToLower(text)
	for _, end := range []string{"/s", "/sec", "/secs", "/second", "_per_second", "_per_sec", " per second", " per sec"} {
		if strings.HasSuffix(lower, end) && len(text) > len(end) {
			return strings.TrimSpace(text[:len(text)-len(end)]), true
		}
	}
	if what, ok = strings.CutSuffix(text, "ps"); ok && len(what) > 1 { // Mbps, kpps
		switch last := what[len(what)-1]; last {
		case 'b', 'B', 'p', 'q', 'r':
			return what, true
		}
	}
	switch lower {
	case "rps", "qps", "tps", "cps", "iops":
		return lower[:len(lower)-2], true
	}
	return "", false
}

// counted are what is counted for each second, or takes a time.
var counted = map[string]string{
	"p": "packet", "pkt": "packet", "packet": "packet", "datagram": "datagram", "frame": "frame", "segment": "segment", "msg": "message", "message": "message",
	"o": "op", "op": "op", "operation": "op", "io": "op", "r": "request", "req": "request", "request": "request", "http_req": "request", "q": "query", "query": "query",
	"querie": "query", "lookup": "query", "t": "transaction", "tran": "transaction", "transaction": "transaction", "txn": "transaction", "c": "connection",
	"conn": "connection", "connection": "connection", "call": "call", "event": "event", "iteration": "iteration",
}

// thing is what a word counts, in the singular.
func thing(word string) (string, bool) {
	word = strings.ToLower(word)
	if name, ok := counted[word]; ok {
		return name, true
	}
	name, ok := counted[strings.TrimSuffix(word, "s")]
	return name, ok && len(word) > 2
}

// scales are the prefixes of SI, of powers of 1024, and of netperf.
var scales = []struct {
	prefix string
	times  float64
}{
	{"10^3", 1e3}, {"10^6", 1e6}, {"10^9", 1e9}, {"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"kilo", 1e3}, {"Kilo", 1e3}, {"mega", 1e6}, {"Mega", 1e6}, {"giga", 1e9}, {"Giga", 1e9}, {"tera", 1e12}, {"Tera", 1e12},
	{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"", 1},
}

// rate is what is counted for each second. Nobody means a thousandth of a bit or a packet: mbit/s and
// mbps, mpps and gbps are written for millions and thousands of millions.
func rate(what, text string) (Unit, bool) {
	for _, s := range scales {
		rest, ok := strings.CutPrefix(what, s.prefix)
		if !ok {
			continue
		}
		if u, ok := data(strings.TrimSpace(rest), s.times, s.prefix); ok {
			return u, true
		}
		if _, ok := thing(rest); ok {
			return Unit{Events, s.times, 1, Higher}, true
		}
	}
	for _, small := range []struct {
		prefix string
		times  float64
	}{{"m", 1e6}, {"g", 1e9}, {"t", 1e12}} {
		rest, ok := strings.CutPrefix(what, small.prefix)
		switch {
		case !ok:
		case rest == "p":
			return Unit{Events, small.times, 1, Higher}, true
		case rest == "bit" || rest == "bits" || rest == "b" && strings.HasSuffix(text, "bps"):
			return Unit{Bits, small.times, 1, Higher}, true
		case rest == "b": // mb/s: bits or bytes
			return Unit{text, 1, 1, Higher}, true
		}
	}
	return Unit{Base: text, Times: 1, Over: 1}, false
}

// data is a number of bits or bytes for each second. KBytes, MBytes and GBytes are powers of 1024, as
// iperf and netperf print them, and kB, MB and GB are not.
func data(what string, times float64, prefix string) (Unit, bool) {
	switch what {
	case "b", "bit", "bits", "Bit", "Bits":
		return Unit{Bits, times, 1, Higher}, true
	case "Bytes", "Byte":
		if binary := map[string]float64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[prefix]; binary > 0 {
			times = binary
		}
		return Unit{Bytes, times, 1, Higher}, true
	case "B", "byte", "bytes":
		return Unit{Bytes, times, 1, Higher}, true
	}
	return Unit{}, false
}

// timePer is a time for each of something: usec/tran, ns/op.
func timePer(what, each string) (Unit, bool) {
	u, ok := times[casing(what)]
	if !ok {
		return u, false
	}
	if name, ok := thing(each); ok {
		each = name
	}
	u.Base, u.Better = "s/"+each, Lower
	return u, true
}

// size is a number of bytes, of which neither more nor less is better. B and bytes are left as they are.
func size(text string) (Unit, bool) {
	prefix, ok := strings.CutSuffix(text, "B")
	for _, s := range scales {
		if ok && prefix != "" && s.prefix == prefix {
			return Unit{Byte, s.times, 1, ""}, true
		}
	}
	return Unit{}, false
}
