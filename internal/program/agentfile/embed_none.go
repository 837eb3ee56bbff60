//go:build !agentfile || !linux || !(amd64 || arm64)

package agentfile

// compressed is empty: there is no program of an agent.
const compressed = ""
