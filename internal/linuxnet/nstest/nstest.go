// Package nstest lets the tests of an ordinary user create network namespaces.
package nstest

import (
	"context"
	"fmt"
	"os"

	"tare/internal/linuxnet"
)

// Enter runs this test program again as root of a user namespace, and ends with its exit code, if it can create
// network namespaces only there. Call it from TestMain.
func Enter() {
	linuxnet.EndWithParent()
	if linuxnet.Try() == nil || linuxnet.Inside() {
		return
	}
	code, err := linuxnet.Reexec(context.Background())
	if err == nil {
		os.Exit(code)
	}
	fmt.Fprintln(os.Stderr, err) // the tests say what they need
}
