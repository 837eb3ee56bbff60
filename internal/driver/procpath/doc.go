// Package procpath is what modes have in common that stand on a lab with processes of
// their own: how these are noted, watched over and ended.
package procpath
