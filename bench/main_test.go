package main

import (
	"strings"
	"testing"
)

func TestChosen(t *testing.T) {
	if err := chosen("a,b", []string{"a", "b"}); err != nil {
		t.Error(err)
	}
	if err := chosen("a,c", []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("unknown section: %v", err)
	}
}
