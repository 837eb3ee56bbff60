//go:build !buildid

package agentfile

const id = ""
