package engines

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/linuxnet"
	"tare/internal/testkit/must"
)

func TestOverlaySpace(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"1-v47fo1k05p", "2-m528ik22zf", "lb_m528ik22z", "2af3cfd1ad4f", "ingress_sbox"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	if got, err := overlaySpace(dir, "m528ik22zfzhez35oaz1todtw"); err != nil || filepath.Base(got) != "2-m528ik22zf" {
		t.Errorf("found %q, %v", got, err)
	}
	if got, err := overlaySpace(dir, "jppnrcv25u2w82r4z354pkrw3"); err == nil {
		t.Errorf("found %q for a network that is not there", got)
	}
}

func TestESPBytes(t *testing.T) {
	a, b, c := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.3")
	out, in := espBytes([]linuxnet.SecurityAssociation{
		{Src: a, Dst: b, ESP: true, Bytes: 100}, {Src: a, Dst: b, ESP: true, Bytes: 20}, // two keys
		{Src: b, Dst: a, ESP: true, Bytes: 7},
		{Src: a, Dst: c, ESP: true, Bytes: 1000}, {Src: a, Dst: b, Bytes: 5000}, // another peer; AH
	}, a, b)
	if out != 120 || in != 7 {
		t.Errorf("out %d, in %d; want 120 and 7", out, in)
	}
}
