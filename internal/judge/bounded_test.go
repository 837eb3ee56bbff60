package judge

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// repeated is a text without end.
type repeated string

func (r repeated) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		n += copy(b[n:], string(r))
	}
	return n, nil
}

// Input without end is refused where its limit is, with the place.
func TestEndlessInput(t *testing.T) {
	numbered := func(format string, n int) io.Reader {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return strings.NewReader(b.String())
	}
	after := func(start string, r io.Reader) io.Reader { return io.MultiReader(strings.NewReader(start), r) }
	for want, c := range map[string]struct {
		format Format
		in     io.Reader
	}{
		"read x: the header is longer than 1 MiB":                                    {CSV, repeated("x")},
		"read x: the record after line 1 is longer than 1 MiB":                       {CSV, after("mode,value\n\"", repeated("a,\n"))},
		"read x: the record after line 2 is longer than 1 MiB":                       {Auto, after("mode,value\nm,1\n", repeated("m"))},
		"read x: line 1 is longer than 1 MiB":                                        {Bench, repeated("Benchmark ")},
		"read x: line 10002: more than 10000 modes, the maximum of one command":      {CSV, after("mode,value\n", numbered("m%d,1\n", 11_000))},
		"read x: line 10002: more than 10000 blocks, the maximum of one command":     {CSV, after("mode,block,value\n", numbered("m,%d,x\n", 11_000))},
		"read x: line 150002: more than 150000 values, the maximum of one command":   {CSV, after("mode,value\n", numbered("m,%d\n", 160_000))},
		"read x: line 20002: more than 20000 combinations of mode, workload and met": {CSV, after("workload,metric,mode,value\n", io.MultiReader(numbered("w,a,m%d,1\n", 9_000), numbered("w,b,m%d,1\n", 9_000), numbered("w,c,m%d,1\n", 9_000)))},
		"read x: line 200: more than 10000 pairs of a mode and a workload":           {CSV, after("mode,workload,value\n", io.MultiReader(numbered("m%d,w,1\n", 101), numbered("m,w%d,1\n", 9_000)))},
		"read x: a text or a number of its JSON is longer than 1 MiB":                {Auto, after(`{"end":"`, repeated("x"))},
		"read x: its JSON has more than 64 levels":                                   {Auto, repeated(`{"a":`)},
		"read x: line 4 is longer than 1 MiB":                                        {Auto, after("|mode|value|\n|--|--|\n|a|1|\n", repeated("|a"))},
		"read x: line 3 is longer than 1 MiB":                                        {Netperf, after("Throughput,Throughput Units\n1,Trans/s\n", repeated("1,"))},
		"read x: line 150003: more than 150000 values, the maximum of one command":   {Auto, after("|mode|value|\n|--|--|\n", strings.NewReader(strings.Repeat("|a|1|\n", 160_000)))},
		"read x: more than 150000 values, the maximum of one command":                {JSON, strings.NewReader(strings.Repeat(`{"end":{"sum_received":{"bits_per_second":1}}}`, 160_000))},
		"read x: line 2: more than 16 columns have text that judge does not know":    {CSV, strings.NewReader("mode,value,a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q" + "\na,1" + strings.Repeat(",x", 17) + "\n")},
	} {
		_, err := Read([]Source{{"x", c.in}}, Options{Format: c.format})
		must.True(t, err != nil && strings.HasPrefix(err.Error(), want), "%.200v, want %s", err, want)
	}
	long := recordReader{from: repeated("key: value\n"), left: maxRecord, total: maxInput}
	_, err := long.Read(make([]byte, 1))
	must.True(t, errors.Is(err, errInput), "%v, want %v", err, errInput)
}
