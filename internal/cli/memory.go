package cli

import (
	"os"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

// softMemoryLimit is how much memory a command that reads what somebody else wrote takes
// before the garbage collector works harder, in bytes. What the readers accept fits below
// it, with what is made of that.
const softMemoryLimit = 190 << 20

// limitMemory sets the soft limit for a command. A command that measures has none: the
// collector must not take CPU time from trials. GOMEMLIMIT overrides it.
func limitMemory(c *cobra.Command, _ []string) {
	if c.HasParent() && c.Name() != "run" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemoryLimit)
	}
}

// openInput opens a file that a user named. It does not wait for a writer of a named pipe: one
// without a writer is empty.
func openInput(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
