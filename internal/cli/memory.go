package cli

import (
	"os"
	"runtime/debug"

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
