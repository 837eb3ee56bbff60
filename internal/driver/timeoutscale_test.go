package driver

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPatience(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		text string
		want time.Duration
	}{
		"emulated": {"processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: QEMU Virtual CPU version 2.5+\n", 4 * time.Second},
		"real":     {"processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor\nflags\t: QEMU\n", time.Second},
		"none":     {"", time.Second},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := scaleTimeout(file, time.Second); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	if got := scaleTimeout(filepath.Join(dir, "nowhere"), time.Second); got != time.Second {
		t.Errorf("without a file: %v", got)
	}
}
