package foreign

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/analysis"
	"tare/internal/must"
	"tare/internal/result"
	"tare/internal/store"
)

func read(opt Options, texts ...string) (Numbers, error) {
	var sources []Source
	for i, text := range texts {
		name := "numbers.csv"
		if len(texts) > 1 {
			name = fmt.Sprintf("dir/%c.txt", 'a'+i)
		}
		sources = append(sources, Source{name, strings.NewReader(text)})
	}
	return Read(sources, opt)
}

// rows returns the trials, one per line.
func rows(n Numbers) string {
	var out strings.Builder
	for _, t := range n.Input.Trials {
		fmt.Fprintf(&out, "%d %s %s %s", t.Block, t.Mode, t.Workload, t.Status)
		for _, m := range n.Input.Metrics {
			if v, ok := t.Metrics[m.Name]; ok {
				fmt.Fprintf(&out, " %s=%g", m.Name, v)
			}
		}
		if len(t.AtLeast) > 0 {
			fmt.Fprintf(&out, " at least %v", t.AtLeast)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func TestRead(t *testing.T) {
	const plain = "1 host values ok value=1\n1 b values ok value=2\n2 host values ok value=3\n2 b values ok value=4\n"
	for _, c := range []struct {
		name  string
		opt   Options
		texts []string
		want  string
	}{
		{"the least", Options{Better: result.Higher}, []string{"mode,value\nhost,1\nhost,3\nb,2\nb,4\n"}, plain},
		{"any order and case, BOM, CRLF, no newline at the end", Options{Better: result.Higher}, []string{"\xef\xbb\xbfVALUE , Mode\r\n1,host\r\n2,b\r\n3,host\r\n\r\n4,b"}, plain},
		{"semicolons and decimal commas", Options{Better: result.Higher}, []string{"mode;value\nhost;1,0\nb;2,00\nhost;3\nb;4.0\n"}, plain},
		{"tabs", Options{Better: result.Higher}, []string{"mode\tvalue\nhost\t1\nb\t2\nhost\t3\nb\t4\n"}, plain},
		{"quotes", Options{Better: result.Higher}, []string{"\"mode\",\"value\"\n\"host\",\"1\"\nb,2\n\"host\",3\nb,\"4\"\n"}, plain},
		{"blocks that are numbers", Options{Better: result.Higher}, []string{"mode,block,value\nhost,20,1\nb,3,2\nhost,3,3\n"}, "3 host values ok value=3\n3 b values ok value=2\n20 host values ok value=1\n"},
		{"blocks that are names", Options{Better: result.Higher}, []string{"mode,block,value\nhost,monday,1\nb,tuesday,2\nhost,tuesday,3\n"}, "1 host values ok value=1\n2 host values ok value=3\n2 b values ok value=2\n"},
		{"blocks, paired in order all the same", Options{Pairing: ByOrder, Better: result.Higher}, []string{"mode,block,value\nhost,9,1\nb,7,2\nhost,9,3\nb,,4\n"}, plain},
		{"units of one kind", Options{}, []string{"mode,value,unit\nhost,3,ms\nb,2000,us\nb,0.5,s\n"}, "1 host values ok value=0.003\n1 b values ok value=0.002\n2 b values ok value=0.5\n"},
		{"metrics of one trial", Options{Better: result.Higher}, []string{"mode,block,workload,metric,value,at_least\nhost,1,rr,rtt_p50,2,\nhost,1,rr,goodput,1,true\nhost,1,rr,zeal,3,no\n"},
			"1 host rr ok goodput=1 rtt_p50=2 zeal=3 at least [goodput]\n"},
		{"what does not count", Options{Better: result.Higher}, []string{"mode,block,value,status\nhost,1,,failed\nhost,1,5,ok\nb,1,,invalid\nb,2,7,pilot\n"},
			"1 host values failed\n1 host values ok value=5\n1 b values invalid\n2 b values failed\n"},
		{"a file a mode", Options{Better: result.Higher}, []string{"value\n1\n2\n", "value\n3\n"}, "1 a values ok value=1\n1 b values ok value=3\n2 a values ok value=2\n"},
		{"benchmarks, a file a mode", Options{}, []string{"goos: linux\nBenchmarkX-8 \t100\t 2000 ns/op\t3 B/op\nPASS\n", "BenchmarkX-8 100 4000 ns/op 5 B/op\n"},
			"1 a X-8 ok sec/op=2e-06 B/op=3\n1 b X-8 ok sec/op=4e-06 B/op=5\n"},
		{"benchmarks, mode in the name", Options{}, []string{"BenchmarkX/mode=host/n=1-8 1 2 MB/s\nBenchmarkX/n=1/mode=b-8 1 3 MB/s\n"},
			"1 host X/n=1-8 ok B/s=2e+06\n1 b X/n=1-8 ok B/s=3e+06\n"},
		{"benchmarks, another part of the name", Options{ModeBy: "/net"}, []string{"BenchmarkX/mode=1/net=host 1 2 s\nBenchmarkX/mode=1/net=b 1 3 s\n"},
			"1 host X/mode=1 ok s=2\n1 b X/mode=1 ok s=3\n"},
		{"benchmarks, the first part of the name", Options{ModeBy: "/1"}, []string{"BenchmarkX/host-4 1 2 s\nBenchmarkX/b-4 1 3 s\n"}, "1 host X-4 ok s=2\n1 b X-4 ok s=3\n"},
		{"benchmarks, mode and block in the configuration", Options{}, []string{"block: 1\nmode: host\nBenchmarkX 1 2 s\nmode: b\nBenchmarkX 1 3 s\nblock: 2\nBenchmarkX 1 4 s\n"},
			"1 host X ok s=2\n1 b X ok s=3\n2 b X ok s=4\n"},
		{"benchmarks of two packages", Options{}, []string{"mode: host\npkg: p\nBenchmarkX 1 2 s\npkg: q\nBenchmarkX 1 3 s\n"}, "1 host X ok s=2\n1 host q.X ok s=3\n"},
		{"what is no benchmark", Options{}, []string{
			"mode: host\n=== RUN   BenchmarkX\nBenchmarkX\nBenchmarkX: a log line\nBenchmarking 1 2 s\nBenchmarkX 1 7 p50-ns\nok  x 1s\n"}, "1 host X ok p50-sec=7e-09\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := must.Get(read(c.opt, c.texts...))(t)
			must.Equal(t, c.want, rows(n))
		})
	}
}

// Input that cannot be analysed is an error with its line.
func TestReadRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		opt   Options
		texts []string
		want  string
	}{
		{"empty", Options{}, []string{""}, "read numbers.csv: the file is empty: it needs a header line with the columns mode and value"},
		{"a header alone", Options{}, []string{"mode,value\n"}, "there are no values"},
		{"no value counts", Options{}, []string{"mode,value,status\nhost,1,failed\n"}, "there are no values"},
		{"no header", Options{}, []string{"host,1\nhost,2\n"}, `read numbers.csv: line 1: there is no column value: the header has "host", "1"; mode and value are required`},
		{"no mode", Options{}, []string{"\n\nvalue\n1\n"}, `read numbers.csv: line 3: there is no column mode: the header has "value"; mode and value are required`},
		{"a column twice", Options{}, []string{"mode,value,Mode\n"}, "read numbers.csv: line 1: two columns mode"},
		{"text in a number", Options{}, []string{"mode,value\nhost,fast\nhost,1 ms\nhost,0x10\n"},
			`read numbers.csv: line 2: value "fast" is not a number; line 3: value "1 ms" is not a number; line 4: value "0x10" is not a number`},
		{"a comma where it parts fields", Options{}, []string{"mode,value\nhost,\"1,5\"\n"}, `read numbers.csv: line 2: value "1,5" is not a number`},
		{"thousands", Options{}, []string{"mode;value\nhost;1.234,5\nhost;1,234,5\n"}, `read numbers.csv: line 2: value "1.234,5" is not a number; line 3: value "1,234,5" is not a number`},
		{"negative, infinite, not a number, too large", Options{}, []string{"mode,value\nhost,-1\nhost,inf\nhost,NaN\nhost,1e400\n"},
			"read numbers.csv: line 2: value -1 is negative, which rates, times, counts and shares cannot be; line 3: value +Inf is not finite; " +
				`line 4: value NaN is not finite; line 5: value "1e400" is too large`},
		{"too large in its base unit", Options{}, []string{"mode,value,unit\nhost,1e308,Gbit/s\n"}, "read numbers.csv: line 2: value +Inf is not finite"},
		{"too few fields", Options{}, []string{"mode,value\nhost\nhost,1,2\n"}, "read numbers.csv: line 2: 1 fields, but the header has 2; line 3: 3 fields, but the header has 2"},
		{"an open quote", Options{}, []string{"mode,value\nhost,1\nhost,\"2\n"}, `read numbers.csv: line 3: extraneous or missing " in quoted-field`},
		{"an empty mode", Options{}, []string{"mode,value\n ,1\n"}, "read numbers.csv: line 2: no mode"},
		{"an escape sequence", Options{}, []string{"mode,value\n\x1b[31m,1\n"}, `read numbers.csv: line 2: mode "\x1b[31m" has characters that cannot be printed`},
		{"a long name", Options{}, []string{"mode,value\n" + strings.Repeat("x", 201) + ",1\n"}, "read numbers.csv: line 2: a mode of 201 bytes; use at most 200"},
		{"a block twice", Options{}, []string{"mode,block,value\nhost,1,1\nhost,2,2\nhost,1,3\n"},
			"read numbers.csv: line 4: a second value of host values in block 1, after line 2; --pairing none uses all values"},
		{"a block missing", Options{}, []string{"mode,block,value\nhost,1,1\nhost,,2\n"}, "read numbers.csv: line 3: no block (not required with --pairing none)"},
		{"no blocks to pair by", Options{Pairing: ByBlock}, []string{"mode,value\nhost,1\n"}, "values cannot be paired by block, because they have none: add a column block, or use --pairing order or none"},
		{"blocks in one file only", Options{}, []string{"mode,block,value\nhost,1,1\n", "mode,value\nb,1\n"}, "dir/b.txt line 2 has no block, but other values have one: add it, or use --pairing order or none"},
		{"better than what", Options{}, []string{"mode,value,better\nhost,1,more\n"}, `read numbers.csv: line 2: better is "more"; use higher or lower`},
		{"two minds", Options{}, []string{"mode,value,better\nhost,1,lower\nhost,1,higher\n"}, "read numbers.csv: line 3: for value, lower is better, not higher"},
		{"against what is known", Options{}, []string{"mode,metric,value,better,unit\nhost,goodput,1,lower,\nhost,goodput,1,,s\n"},
			"read numbers.csv: line 2: for goodput, higher is better, not lower; line 3: goodput is in bit/s, not in s"},
		{"units of two kinds", Options{}, []string{"mode,value,unit\nhost,1,ms\nhost,1,Mbit/s\n"}, "read numbers.csv: line 3: value has the unit bit/s here and s in line 2"},
		{"two baselines", Options{}, []string{"mode,baseline,value\nb,host,1\nb,c,1\n"}, `read numbers.csv: line 3: "b" has the baseline "c" here and "host" before`},
		{"no such baseline", Options{Baseline: "hots"}, []string{"mode,value\nhost,1\nb,1\n"}, `the baseline "hots" is not among the modes: host, b`},
		{"at least what", Options{}, []string{"mode,value,at_least\nhost,1,perhaps\n"}, `read numbers.csv: line 2: at_least is "perhaps"; use true or false`},
		{"many", Options{}, []string{"mode,value\n" + strings.Repeat("host,x\n", 30)}, `read numbers.csv: ` + strings.TrimSuffix(many(2, 9), "; ") + "; and 22 more"},
		{"no benchmark", Options{Format: Bench}, []string{"PASS\n"}, "read numbers.csv: there is no benchmark line (BenchmarkName-8 100 123 ns/op)"},
		{"a benchmark of no mode", Options{}, []string{"goos: linux\nBenchmarkX 1 2 s\n"}, `read numbers.csv: line 2: the mode of "X" is unknown: use one file per mode, ` +
			"a part /mode=NAME of the name, or a line mode: NAME before it; or set another source with --mode-by"},
		{"no such part", Options{ModeBy: "/net"}, []string{"BenchmarkX/mode=a 1 2 s\n"}, `read numbers.csv: line 1: the name "X/mode=a" has no part /net for the mode`},
		{"no such configuration", Options{ModeBy: "net"}, []string{"BenchmarkX/mode=a 1 2 s\n"}, `read numbers.csv: line 1: there is no line "net: ..." for the mode before "X/mode=a"`},
		{"text in a benchmark's number", Options{}, []string{"mode: a\nBenchmarkX 1 2 s fast allocs/op\n"}, `read numbers.csv: line 2: value "fast" is not a number`},
		{"a value without unit", Options{}, []string{"mode: a\nBenchmarkX 1 2 s 3\n"}, `read numbers.csv: line 2: a value without a unit: "3"`},
		{"a unit's direction", Options{}, []string{"Unit s better=left\nmode: a\nBenchmarkX 1 2 s\n"}, `read numbers.csv: line 1: better is "left"; use higher or lower`},
		{"a line without end", Options{}, []string{"mode: a\nBenchmarkX 1 2 " + strings.Repeat("s", 1<<20)}, "read numbers.csv: line 2 is longer than 1 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := read(c.opt, c.texts...)
			if err == nil {
				t.Fatalf("it was read: %s", rows(n))
			}
			must.Equal(t, c.want, err.Error())
		})
	}
}

func many(from, to int) string {
	var s strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&s, "line %d: value \"x\" is not a number; ", i)
	}
	return s.String()
}

// Input that can be analysed but needs attention results in a warning.
func TestReadWarns(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opt        Options
		want       []string
	}{
		{"nothing to say", "mode,block,value,better\nhost,1,1,lower\nhost,2,1,lower\nb,1,1,lower\nb,2,1,lower\n", Options{}, nil},
		{"said by a flag", "mode,value\nhost,1\nhost,2\n", Options{Better: result.Lower}, nil},
		{"said by the unit", "mode,value,unit\nhost,1,ms\nhost,2,ms\n", Options{}, nil},
		{"a column too many", "mode,value,mood,seq,unit\nhost,1,x,1,s\nhost,2,x,1,s\n", Options{}, []string{"unknown_column run"}},
		{"no value", "mode,value,unit\nhost,1,s\nhost,,s\nhost,2,s\n", Options{}, []string{"missing_value run"}},
		{"one value, and blocks of one alone", "mode,block,value,unit\nhost,1,1,s\nhost,2,2,s\nhost,3,2,s\nb,2,1,s\n", Options{},
			[]string{"one_value b values value", "missing_block b values value"}},
		{"zeros", "mode,metric,value\nhost,goodput,0\nhost,goodput,1\nhost,retransmits,0\nhost,retransmits,0\n", Options{}, []string{"zero_value run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := must.Get(read(c.opt, c.text))(t)
			var got []string
			for _, w := range n.Warnings {
				got = append(got, w.Code+" "+w.Scope)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d, n.Warnings)
			}
		})
	}
}

func TestBaselines(t *testing.T) {
	const table = "mode,value,unit\nb,1,s\nhost,1,s\nc,1,s\n"
	for _, c := range []struct {
		name, text, flag, want string
	}{
		{"host", table, "", "b:host host: c:host "},
		{"the flag", table, "c", "b:c host:c c: "},
		{"the first", strings.ReplaceAll(table, "host", "h"), "", "b: h:b c:b "},
		{"what the numbers say", "mode,baseline,value,unit\nb,host,1,s\nhost,,1,s\nc,local,1,s\nlocal,,1,s\n", "", "b:host host: c:local local: "},
		{"the flag before the numbers", "mode,baseline,value,unit\nb,host,1,s\nhost,,1,s\n", "b", "b: host:b "},
	} {
		n := must.Get(read(Options{Baseline: c.flag}, c.text))(must.Named(t, c.name))
		got := ""
		for _, m := range n.Input.Modes {
			got += m.ID + ":" + m.Baseline + " "
		}
		must.EqualFor(t, c.name, c.want, got)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestReadPassesErrorsOn(t *testing.T) {
	for _, f := range []Format{CSV, Bench, Auto} {
		must.FailFor(t, f, must.Err(Read([]Source{{"x", io.MultiReader(strings.NewReader("mode,value\nhost,1\n"), broken{})}}, Options{Format: f})), "read x: the disk is gone")
	}
}

// judgeable checks what must hold for any input that was read.
func judgeable(t *testing.T, n Numbers) {
	t.Helper()
	for _, tr := range n.Input.Trials {
		for name, v := range tr.Metrics {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Fatalf("%s of %s is %g", name, tr.Mode, v)
			}
		}
	}
	n.Input.Rule.Margin = 0.05
	cells, warnings := analysis.Judge(n.Input)
	must.Get(store.EncodeRun(result.Run{Cells: cells, Warnings: append(n.Warnings, warnings...), Metrics: n.Input.Metrics, Modes: n.Input.Modes}))(t)
	for _, w := range warnings {
		if w.Code == "unknown_metric" || w.Code == "bad_value" {
			t.Fatalf("the analysis refuses the input: %+v", w)
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("mode,value\nhost,1\nb,2\n", "")
	f.Add("mode;block;value;unit\nhost;1;1,5;ms\nb;1;2,5;ms\n", "block")
	f.Add("mode,value,metric,better,baseline,status,at_least\nhost,1,goodput,higher,,ok,\nb,0,goodput,,host,failed,true\n", "order")
	f.Add("\xef\xbb\xbf\"mode\",\"value\"\r\n\"a\nb\",1\r\n", "none")
	f.Fuzz(func(t *testing.T, text, pairing string) {
		if n, err := read(Options{Format: CSV, Pairing: Pairing(pairing)}, text); err == nil {
			judgeable(t, n)
		} else if strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("an error of several lines: %q", err)
		}
	})
}

func FuzzBench(f *testing.F) {
	f.Add("goos: linux\nmode: a\nBenchmarkX-8 100 5 ns/op 3 B/op\n", "")
	f.Add("Unit s better=higher\nBenchmarkX/mode=a/n=1-8 100 5 s\nBenchmarkX/mode=b/n=1-8 100 5 s\n", "/mode")
	f.Add("pkg: a\nblock: 1\nBenchmarkX/1-8 1 5 MB/s\npkg: b\nBenchmarkX/1-8 1 0 MB/s\n", "/1")
	f.Fuzz(func(t *testing.T, text, by string) {
		if n, err := read(Options{Format: Bench, ModeBy: by}, text); err == nil {
			judgeable(t, n)
		}
	})
}

// Reading uses memory in proportion to the values: at most 1500 bytes for each of 100 000 values in
// 100 cells, most of it for the resulting trials.
func TestReadingManyValues(t *testing.T) {
	const n = 100_000
	var text strings.Builder
	text.WriteString("block,mode,workload,metric,value\n")
	for i := range n {
		fmt.Fprintf(&text, "%d,mode%d,w%d,goodput,%d\n", i/100, i%10, i/10%10, 1_000_000+i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	numbers, err := read(Options{}, text.String())
	runtime.ReadMemStats(&after)
	if err != nil || len(numbers.Input.Trials) != n || len(numbers.Warnings) > 0 {
		t.Fatalf("%d trials, warnings %v: %v", len(numbers.Input.Trials), numbers.Warnings, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1500*n {
		t.Errorf("%d bytes were allocated, %d a value", got, got/n)
	}
}
