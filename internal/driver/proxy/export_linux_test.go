package proxy

// Path is exported for tests that interrupt a mode.
type Path = path

// CheckFrames is exported for its test.
var CheckFrames = checkFrames

// NegotiatedIn is exported for its tests.
var NegotiatedIn = negotiatedIn
