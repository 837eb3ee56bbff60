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
	plain := micro.Replace(text)
	if u, known = irregular(plain); known {
		return u, true
	}
	if u, known = duration(plain); known {
		return u, true
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

var micro = strings.NewReplacer("µ", "u", "μ", "u") // the sign, and the Greek letter

// irregular are units that follow no rule.
func irregular(text string) (Unit, bool) {
	switch text {
	case "bps":
		return Unit{Bits, 1, 1, Higher}, true
	case "Bps":
		return Unit{Bytes, 1, 1, Higher}, true
	case "pps", "Hz", "hz", "/s", "1/s", "1/sec":
		return Unit{Events, 1, 1, Higher}, true
	case "%", "percent", "pct":
		return Unit{Ratio, 1, 100, ""}, true
	case "ratio":
		return Unit{Ratio, 1, 1, ""}, true
	case "ppm":
		return Unit{Ratio, 1, 1e6, ""}, true
	case "allocs/op", "B/op":
		return Unit{text, 1, 1, Lower}, true
	}
	return Unit{}, false
}

// duration is a unit of time.
func duration(word string) (Unit, bool) {
	u := Unit{Second, 1, 1, Lower}
	switch casing(word) {
	case "ns", "nsec", "nsecs", "nano", "nanos", "nanosecond", "nanoseconds":
		u.Over = 1e9
	case "us", "usec", "usecs", "micro", "micros", "microsecond", "microseconds":
		u.Over = 1e6
	case "ms", "msec", "msecs", "milli", "millis", "millisecond", "milliseconds":
		u.Over = 1e3
	case "s", "sec", "secs", "second", "seconds":
	case "min", "mins", "minute", "minutes":
		u.Times = 60
	default:
		return Unit{}, false
	}
	return u, true
}

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

// thing is what a word counts, in the singular; empty if that is unknown.
func thing(word string) string {
	word = strings.ToLower(word)
	if len(word) > 2 {
		word = strings.TrimSuffix(word, "s")
	}
	switch word {
	case "p", "pkt", "packet":
		return "packet"
	case "o", "op", "operation", "io":
		return "op"
	case "r", "req", "request", "http_req":
		return "request"
	case "q", "query", "querie", "lookup":
		return "query"
	case "t", "tran", "transaction", "txn":
		return "transaction"
	case "c", "conn", "connection":
		return "connection"
	case "msg", "message":
		return "message"
	case "datagram", "frame", "segment", "call", "event", "iteration":
		return word
	}
	return ""
}

type scale struct {
	prefix string
	times  float64
}

// scales are the prefixes of SI, of powers of 1024, and of netperf.
func scales() []scale {
	return []scale{
		{"10^3", 1e3}, {"10^6", 1e6}, {"10^9", 1e9}, {"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
		{"kilo", 1e3}, {"Kilo", 1e3}, {"mega", 1e6}, {"Mega", 1e6}, {"giga", 1e9}, {"Giga", 1e9}, {"tera", 1e12}, {"Tera", 1e12},
		{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"", 1},
	}
}

// rate is what is counted for each second. Nobody means a thousandth of a bit or a packet: mbit/s and
// mbps, mpps and gbps are written for millions and thousands of millions.
func rate(what, text string) (Unit, bool) {
	for _, s := range scales() {
		rest, ok := strings.CutPrefix(what, s.prefix)
		if !ok {
			continue
		}
		if u, ok := data(strings.TrimSpace(rest), s.times, s.prefix); ok {
			return u, true
		}
		if thing(rest) != "" {
			return Unit{Events, s.times, 1, Higher}, true
		}
	}
	for _, small := range []scale{{"m", 1e6}, {"g", 1e9}, {"t", 1e12}} {
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
	u, ok := duration(what)
	if name := thing(each); name != "" {
		each = name
	}
	u.Base = "s/" + each
	return u, ok
}

// size is a number of bytes, of which neither more nor less is better. B and bytes are left as they are.
func size(text string) (Unit, bool) {
	prefix, ok := strings.CutSuffix(text, "B")
	for _, s := range scales() {
		if ok && prefix != "" && s.prefix == prefix {
			return Unit{Byte, s.times, 1, ""}, true
		}
	}
	return Unit{}, false
}
