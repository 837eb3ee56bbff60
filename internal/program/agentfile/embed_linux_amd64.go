//go:build agentfile

package agentfile

import _ "embed"

// compressed is the agent's program as a gzip file.
//
//go:embed linux_amd64.gz
var compressed string
