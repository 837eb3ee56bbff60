//go:build !race

package tcp

// shareScratch is whether threads on the same CPU read into the same buffer. It is off with the
// race detector, which cannot know that the contents are never used.
const shareScratch = true
