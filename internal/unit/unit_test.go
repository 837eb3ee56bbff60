package unit

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// What one of each unit is in base units, and which direction is better.
func TestParse(t *testing.T) {
	for want, spellings := range map[string]string{
		"1e-09 s lower": "ns nsec nanoseconds", "1e-06 s lower": "us µs μs usec µsec Usec microseconds Microseconds", "0.001 s lower": "ms msec milliseconds",
		"1 s lower": "s sec secs seconds", "60 s lower": "min minutes",
		"1 bit/s higher": "bit/s bps b/s bits/s bits/sec bits_per_second", "1000 bit/s higher": "kbit/s Kbit/s kbps Kbps kb/s Kb/s Kbits/sec kilobits/s 10^3bits/s",
		"1e+06 bit/s higher": "Mbit/s Mbps mbps Mb/s Mbits/sec mbit/s megabits/sec 10^6bits/s", "1e+09 bit/s higher": "Gbit/s Gbps gbps Gb/s Gbits/sec 10^9bits/s",
		"1024 bit/s higher": "Kibit/s Kib/s",
		"1 B/s higher":      "B/s Bps bytes/sec bytes_per_second", "1000 B/s higher": "KB/s kB/s KBps", "1e+06 B/s higher": "MB/s MB/sec MBps megabytes/s",
		"1e+09 B/s higher": "GB/s", "1024 B/s higher": "KiB/s KBytes/s KBytes/sec", "1.048576e+06 B/s higher": "MiB/s MiB/sec MBytes/sec",
		"1.073741824e+09 B/s higher": "GiB/s GBytes/sec", "1 1/s higher": "1/s /s Hz tps TPS qps QPS rps RPS pps iops IOPS Trans/s Trans/sec tran/s req/sec reqs/s requests/second ops/sec OP/s conn/s connections/s queries/s packets/s pkts/sec msgs/s",
		"1000 1/s higher": "kpps Kpps kreq/s kops/s Kpkts/s krps", "1e+06 1/s higher": "Mpps mpps Mops/s",
		"1e-06 s/transaction lower": "usec/tran us/transaction µs/trans", "1e-09 s/op lower": "ns/op nsec/op", "0.001 s/request lower": "ms/req",
		"1 s/Gbit lower": "s/Gbit", "1 s/1000_x lower": "s/1000_x", "0.01 ratio ": "% percent pct", "1 ratio ": "ratio", "1024 B ": "KiB", "1e+06 B ": "MB",
		"1 mb/s higher": "mb/s", "1 B/op lower": "B/op",
	} {
		for text := range strings.FieldsSeq(spellings) {
			u, known := Parse(text)
			must.EqualFor(t, text, want+" true", fmt.Sprintf("%g %s %s %v", u.In(1), u.Base, u.Better, known))
		}
	}
	for text := range strings.FieldsSeq("bytes B segments MS widgets/s drops/s errors/sec /op Gbit steps x/y 1/ ps") {
		u, known := Parse(text)
		must.EqualFor(t, text, Unit{Base: text, Times: 1, Over: 1}, u)
		must.EqualFor(t, text, false, known)
	}
}

// Rates of bits and of bytes are converted into each other, and other units are not.
func TestTo(t *testing.T) {
	for _, c := range []struct {
		from, base string
		want       float64
		ok         bool
	}{{"MB/s", Bits, 8e6, true}, {"Mbit/s", Bytes, 125e3, true}, {"ms", Second, 0.001, true}, {"us/op", Second, 1e-6, true}, {"ms", Bits, 0, false}, {"kpps", Bits, 0, false}} {
		u, _ := Parse(c.from)
		to, ok := u.To(c.base)
		if ok != c.ok || ok && (to.In(1) != c.want || to.Base != c.base) {
			t.Errorf("%s in %s is %g %s, %v", c.from, c.base, to.In(1), to.Base, ok)
		}
	}
}

// A unit can be parsed whatever its text is, and what it is in base units remains itself.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"Gbits/sec", "10^6bits/s", "usec/tran", "µs", "/", "ps", " per second"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, known := Parse(text)
		if again, _ := Parse(u.Base); !(u.Over > 0 && u.Times > 0) || known && again.In(1) != 1 && again.Base != u.Base {
			t.Errorf("%q is %+v, and its base unit %+v", text, u, again)
		}
	})
}

func TestCount(t *testing.T) {
	for want, n := range map[string]int{"0 trials": 0, "1 trial": 1, "2 trials": 2} {
		must.Equal(t, want, Count(n, "trial", "trials"))
	}
}
