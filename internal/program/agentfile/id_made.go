//go:build buildid

package agentfile

import _ "embed"

// id is written by `make agents`.
//
//go:embed id.txt
var id string
