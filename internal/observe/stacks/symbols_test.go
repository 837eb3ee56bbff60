package stacks

import (
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

const kallsyms = `ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000100 t tcp_sendmsg_locked.isra.0
ffffffff81002000 d some_data
ffffffffc0001000 t nft_do_chain	[nf_tables]
ffffffffc0000000 t bpf_prog_6deef7357e7b4530	[bpf]
`

func TestSymbols(t *testing.T) {
	s := must.Get(readSymbols(strings.NewReader(kallsyms)))(t)
	for at, want := range map[uint64]string{
		0xffffffff81000000: "_stext", 0xffffffff810000ff: "_stext", 0xffffffff81000100: "tcp_sendmsg_locked", 0xffffffff81003000: "tcp_sendmsg_locked",
		0xffffffffc0000fff: "bpf_prog_6deef7357e7b4530", 0xffffffffc0001004: "nft_do_chain",
		0xffffffff80ffffff: "", 0xffffffffb0000000: "", // below all functions, and far after the last one
	} {
		got, ok := s.at(at)
		must.True(t, got == want && ok == (want != ""), "%x is %q, %t, want %q", at, got, ok, want)
	}
}

func TestSymbolsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"0000000000000000 T _text\n0000000000000000 T start\n": "kptr_restrict",
		"":                            "no functions",
		"ffffffff81000000 D data\n":   "no functions",
		"not an address T function\n": "no functions",
		"zz T function\n":             "address",
	} {
		must.Fail(t, must.Err(readSymbols(strings.NewReader(text))), want)
	}
}
