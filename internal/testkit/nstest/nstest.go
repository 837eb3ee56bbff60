// Package nstest lets the tests of an ordinary user create network namespaces.
package nstest

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"tare/internal/linuxnet"
)

// Enter runs this test program again as root of a user namespace, and ends with its exit code, if it can create
// network namespaces only there. Call it from TestMain.
func Enter() {
	linuxnet.EndWithParent()
	if linuxnet.Try() == nil || linuxnet.Inside() {
		return
	}
	cmd := exec.CommandContext(context.Background(), "/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	code, err := linuxnet.RunInUserNamespace(cmd)
	if err == nil {
		os.Exit(code)
	}
	fmt.Fprintln(os.Stderr, err) // the tests say what they need
}
