package ipsec

import (
	"context"
	"os"

	"tare/internal/driver/labdriver"
)

// ProvisionWith builds a mode with a key of the test's for each host.
func ProvisionWith(ctx context.Context, o labdriver.ModeSpec, secrets [2]string) error {
	p, err := provision(ctx, o, secrets)
	if err == nil {
		return p.Close(ctx)
	}
	return err
}

// Find looks for strongSwan in directories.
func Find(mode string, dirs ...string) error {
	_, err := find(mode, dirs)
	return err
}

// Here is whether strongSwan is installed where it is looked for.
func Here() bool {
	for _, d := range charonDirs() {
		if _, err := os.Stat(d + "/charon"); err == nil {
			return true
		}
	}
	return false
}
