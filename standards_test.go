package tare_test

import (
	"os"
	"testing"

	"tare/internal/testkit/must"
)

// The pages say which RFCs and drafts a run follows and with what, and what the baseline of a lab is.
func TestStandardsAreSaid(t *testing.T) {
	page := func(name string) string { return string(must.Get(os.ReadFile(name))(t)) }
	must.Contain(t, page("docs/standards.md"), "RFC 9971", "`--for packets`", "`packet_rate`", "`memory`", "64, 512 and 1500 bytes")
	must.Contain(t, page("docs/rate-search.md"), "RFC 9971")
	must.Contain(t, page("docs/modes/host.md"), "the host's own stack over a veth, not over a network card")
}
