package ipsec

import (
	"context"
	"os"

	"tare/internal/driver/labdriver"
)

// ProvisionWith builds a mode with the given key for each host.
func ProvisionWith(ctx context.Context, o labdriver.Order, secrets [2]string) error {
	p, err := provision(ctx, o, secrets)
	if err == nil {
		return p.Close(ctx)
	}
	return err
}

// Find searches for strongSwan in the given directories.
func Find(mode string, dirs ...string) error {
	row, err := rows().Find("ipsec", mode)
	if err == nil {
		_, err = find(mode, row.Build, dirs)
	}
	return err
}

// Here reports whether strongSwan is installed in the usual directories.
func Here() bool {
	for _, d := range charonDirs() {
		if _, err := os.Stat(d + "/charon"); err == nil {
			return true
		}
	}
	return false
}
