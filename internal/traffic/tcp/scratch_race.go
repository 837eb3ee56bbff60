//go:build race

package tcp

// shareScratch is whether threads of one CPU read into one buffer. The race detector
// cannot know that nobody looks at what is in it.
const shareScratch = false
