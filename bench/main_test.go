package main

import (
	"testing"

	"tare/internal/testkit/must"
)

func TestChosen(t *testing.T) {
	must.Do(t, chosen("a,b", []string{"a", "b"}))
	must.Fail(t, chosen("a,c", []string{"a", "b"}), `"c"`)
}
