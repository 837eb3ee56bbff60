package studyfile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/study/studyfile"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
	"tare/internal/timelimit"
)

// everything names every key there is.
const everything = `# A comment
name: one-of-each
title: "Every key: once"
description: |
  Two lines,
    one indented.
profile: standard
seed: 9007199254740991
modes: [netns/bridge, host]
workloads:
  - tcp_rr
  - workload: tcp_stream
    id: big.writes_2-x
    streams: 1000
    write_size: 16MiB
    no_delay: false
    direction: reverse
    family: ipv6
    congestion_control: bbr
    send_buffer: auto
    receive_buffer: 4096
    placement: free
    warmup: 0
    duration: 1m30s
claims:
  - {id: c, claim: "Bridges cost nothing", source: "A, 2016", of: [netns/bridge, host], workload: tcp_rr, metric: rtt_p50, published: 0.992, holds_if: between 0.9 and 1.05}
  - {id: d, claim: "Windows costs more", needs: a Windows host, differs: "no\nmatter"}
blocks: 2
margin: 0.001
settle: 0s
max_time: 720h
lab:
  mtu: 9000
  rate: 2.5gbit
  offload: off
`

func TestDecode(t *testing.T) {
	no := false
	for name, c := range map[string]struct {
		src  string
		want study.Study
	}{
		"every key": {everything, study.Study{
			Name: "one-of-each", Title: "Every key: once", Description: "Two lines,\n  one indented.\n",
			Profile: study.Standard, Seed: study.MaxSeed, Modes: study.ModesOf("netns/bridge", "host"),
			Workloads: []study.Workload{{Kind: "tcp_rr"}, {
				ID: "big.writes_2-x", Kind: "tcp_stream", Streams: 1000, WriteSize: 16 << 20, NoDelay: &no,
				Direction: study.Reverse, Family: study.IPv6, Congestion: "bbr", SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.Buffer(4096),
				Placement: study.Free, Warmup: quantity.WaitOf(0), Duration: quantity.Duration(90 * time.Second),
			}},
			Claims: []study.Claim{{
				ID: "c", Claim: "Bridges cost nothing", Source: "A, 2016", Of: study.Names{"netns/bridge", "host"}, Workload: "tcp_rr", Metric: "rtt_p50",
				Published: "0.992", HoldsIf: "between 0.9 and 1.05",
			}, {ID: "d", Claim: "Windows costs more", Needs: "a Windows host", Differs: "no\nmatter"}},
			Blocks: 2, Margin: 0.001, Settle: quantity.WaitOf(0), MaxTime: quantity.Duration(720 * time.Hour),
			Lab: study.Lab{MTU: 9000, Rate: 2_500_000_000, Offload: study.Off},
		}},
		"as JSON": {`{"modes": ["host"], "workloads": ["tcp_rr", {"workload": "tcp_stream", "streams": 2}], "margin": 5e-2}`, study.Study{
			Modes: study.ModesOf("host"), Workloads: []study.Workload{{Kind: "tcp_rr"}, {Kind: "tcp_stream", Streams: 2}}, Margin: 0.05,
		}},
		"aliases": {"modes: [&h host, netns/vxlan]\nworkloads:\n- &w {workload: tcp_rr, warmup: &t 1s, duration: *t}\n", study.Study{
			Modes: study.ModesOf("host", "netns/vxlan"),
			Workloads: []study.Workload{{
				Kind: "tcp_rr", Warmup: quantity.WaitOf(time.Second), Duration: quantity.Duration(time.Second),
			}},
		}},
		"windows line ends, mark and markers": {"\ufeff---\r\nname: a\r\nmodes:\r\n- host\r\n...\r\n# the end\r\n", study.Study{
			Name: "a", Modes: study.ModesOf("host"),
		}},
		"nothing but a name": {"name: a", study.Study{Name: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := must.Get(studyfile.Decode("s.yaml", []byte(c.src), studytest.Catalog()))(t)
			must.Equal(t, c.want, got)
		})
	}
}

// TestHostileFiles has what cannot stand in testdata/bad.txt.
func TestHostileFiles(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'h'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10), ", "))
	}
	const mib = 1 << 20
	for name, c := range map[string]struct{ src, want string }{
		"10 MB":         {strings.Repeat("#234567890", mib), "s.yaml:1: the file is larger than 1MiB, the maximum of a study"},
		"nothing":       {"", "s.yaml:1: the file is empty; a study requires at least modes and workloads"},
		"a mark only":   {"\ufeff", "s.yaml:1: the file is empty; a study requires at least modes and workloads"},
		"NUL":           {"name: a\ntitle: \x00\n", "s.yaml:2: control character U+0000; a study is plain UTF-8 text"},
		"escape":        {"# \x1b[2J\n", "s.yaml:1: control character U+001B; a study is plain UTF-8 text"},
		"delete":        {"a: \x7f", "s.yaml:1: control character U+007F; a study is plain UTF-8 text"},
		"second mark":   {"a: 1\nb: \ufeff", "s.yaml:2: control character U+FEFF; a study is plain UTF-8 text"},
		"Latin-1":       {"name: a\n\ntitle: caf\xe9\n", "s.yaml:3: byte 0xe9 is not UTF-8; a study is plain UTF-8 text"},
		"UTF-16":        {"\xff\xfea\x00", "s.yaml:1: byte 0xff is not UTF-8; a study is plain UTF-8 text"},
		"surrogate":     {"a: \xed\xa0\x80", "s.yaml:1: byte 0xed is not UTF-8; a study is plain UTF-8 text"},
		"aliases":       {bomb, "s.yaml:5: more than 20000 values with aliases expanded"},
		"many values":   {"modes: [" + strings.Repeat("host, ", 20_000) + "]", "s.yaml:1: more than 20000 values with aliases expanded"},
		"lists":         {strings.Repeat("[", mib), "s.yaml:1: not valid YAML: exceeded max depth of 10000"},
		"mappings":      {strings.Repeat("{a: ", mib/4), "s.yaml:1: not valid YAML: exceeded max depth of 10000"},
		"dashes":        {strings.Repeat("- ", mib/2), "s.yaml:1: not valid YAML: exceeded max depth of 10000"},
		"deep":          {"a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "s.yaml:1: nested deeper than 16 levels"},
		"long title":    {"title: " + strings.Repeat("é", 201), "s.yaml:1: title is \"" + strings.Repeat("é", 40) + "...\"; want one line of at most 200 characters without control characters"},
		"anchor around": {"lab: &x\n  mtu: 1500\n  rate: [{a: *x}]\n", "s.yaml:3: anchor \"&x\" contains itself"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := studyfile.Decode("s.yaml", []byte(c.src), studytest.Catalog())
			took := time.Since(start)
			must.True(t, took <= timelimit.Scaled(3*time.Second), "took %v", took)
			got := "no error"
			if err != nil {
				got = err.Error()
				checkErrors(t, err)
			}
			must.Equal(t, c.want, got)
		})
	}
}

func TestManyProblems(t *testing.T) {
	_, err := studyfile.Decode("s.yaml", []byte("modes:\n"+strings.Repeat("- x\n", 1000)), studytest.Catalog())
	must.Require(t, err != nil, "no error")
	lines := strings.Split(err.Error(), "\n")
	got, want := len(lines), 21
	must.Require(t, got == want, "%d lines, want %d", got, want)
	if got, want := lines[20], "s.yaml:22: 980 more problems follow"; got != want {
		t.Errorf("last line %q, want %q", got, want)
	}
	checkErrors(t, err)
}

func TestTitles(t *testing.T) {
	for name, c := range map[string]struct{ src, title, description string }{
		"both":             {everything, "Every key: once", "Two lines,\n  one indented.\n"},
		"a later version":  {"title: New\nmodes: [quantum/tunnel]\ncolour: red\n", "New", ""},
		"not text":         {"title: [a]\ndescription: 5\n", "", ""},
		"not fit to print": {"title: \"\\e[2J\"\ndescription: fine\n", "", "fine"},
		"a list":           {"- title\n- x\n", "", ""},
		"no YAML":          {"title: [", "", ""},
		"nothing":          {"", "", ""},
	} {
		title, description := studyfile.Titles([]byte(c.src))
		must.True(t, title == c.title && description == c.description, "%s: %q, %q, want %q, %q", name, title, description, c.title, c.description)
	}
}

func TestNameOf(t *testing.T) {
	for src, want := range map[string]string{
		"title: x\nname: sdn\nmodes: [quantum/tunnel]\n": "sdn",
		"name: [a]\n":     "",
		"name: \"a/b\"\n": "",
		"name: [":         "",
		"title: x\n":      "",
		"":                "",
	} {
		must.EqualFor(t, src, want, studyfile.NameOf([]byte(src)))
	}
}
