package cni

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	syntax "text/template/parse"
)

// maxSteps bounds how many parts of a text with placeholders are filled in, because ranges can be nested.
const maxSteps = 100_000

var (
	errTooBig     = errors.New("more than 1 MiB")
	errTooDeep    = fmt.Errorf("its ranges take more than %d steps", maxSteps)
	errNoVariable = errors.New("the variable has no value there")
	errNoScalar   = errors.New("a list or a structure has no text of its own: use range, index or one of its fields")
)

// tree returns the values as what fill uses: strings, integers, lists and structures.
func (v values) tree() map[string]any {
	underlay := make([]any, 0, len(v.Underlay))
	for _, u := range v.Underlay {
		underlay = append(underlay, map[string]any{"Subnet": u.Subnet, "First": u.First, "Last": u.Last})
	}
	return map[string]any{"PodCIDR": v.PodCIDR, "PodCIDRRanges": listOf(v.PodCIDRRanges), "Routes": listOf(v.Routes), "Host": v.Host, "Device": v.Device, "MTU": v.MTU, "Underlay": underlay}
}

func listOf(texts []string) []any {
	out := make([]any, 0, len(texts))
	for _, t := range texts {
		out = append(out, t)
	}
	return out
}

// fill replaces the placeholders of a text, which are actions of package text/template: fields, variables, if, range,
// with, else, and the functions of functions. It gives what that package does, or an error that begins with source and the line.
// The package itself is not used: a program with it keeps every exported method of every library.
func fill(source, text string, v values) ([]byte, error) {
	trees, err := syntax.Parse(source, text, "", "", functions())
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	dot := v.tree()
	f := filler{tree: trees[source], variables: []variable{{"$", dot}}}
	if err := f.walk(dot, f.tree.Root); err != nil {
		return nil, err
	}
	return f.out.Bytes(), nil
}

type variable struct {
	name  string
	value any
}

type filler struct {
	tree      *syntax.Tree
	out       bytes.Buffer
	steps     int
	variables []variable // the innermost last
}

func (f *filler) fail(n syntax.Node, err error) error {
	at, what := f.tree.ErrorContext(n)
	return fmt.Errorf("%s: %s: %w", at, what, err)
}

func (f *filler) walk(dot any, node syntax.Node) error {
	if f.steps++; f.steps > maxSteps {
		return f.fail(node, errTooDeep)
	}
	switch n := node.(type) {
	case *syntax.ListNode:
		for _, part := range n.Nodes {
			if err := f.walk(dot, part); err != nil {
				return err
			}
		}
		return nil
	case *syntax.TextNode:
		return f.write(n, string(n.Text))
	case *syntax.ActionNode:
		value, err := f.pipe(dot, n.Pipe)
		if err != nil || len(n.Pipe.Decl) > 0 {
			return err
		}
		switch value.(type) {
		case string, int, bool:
			return f.write(n, fmt.Sprint(value))
		}
		return f.fail(n, errNoScalar)
	case *syntax.IfNode:
		return f.branch(&n.BranchNode, dot, func(any) any { return dot })
	case *syntax.WithNode:
		return f.branch(&n.BranchNode, dot, func(value any) any { return value })
	case *syntax.RangeNode:
		return f.each(n, dot)
	}
	return f.fail(node, errors.New("only fields, variables, if, range and with can be filled in"))
}

func (f *filler) write(n syntax.Node, text string) error {
	if f.out.Len()+len(text) > maxConflist {
		return f.fail(n, errTooBig)
	}
	f.out.WriteString(text)
	return nil
}

// branch walks one of the lists of an if or a with; inside returns the dot of the first.
func (f *filler) branch(n *syntax.BranchNode, dot any, inside func(value any) any) error {
	defer f.forget(len(f.variables))
	value, err := f.pipe(dot, n.Pipe)
	switch {
	case err != nil:
		return err
	case isTrue(value):
		return f.walk(inside(value), n.List)
	case n.ElseList != nil:
		return f.walk(dot, n.ElseList)
	}
	return nil
}

// each walks the list of a range for each element.
func (f *filler) each(n *syntax.RangeNode, dot any) error {
	defer f.forget(len(f.variables))
	value, err := f.pipe(dot, n.Pipe)
	if err != nil {
		return err
	}
	list, ok := value.([]any)
	switch {
	case !ok:
		return f.fail(n, errors.New("range is over lists only"))
	case len(list) == 0 && n.ElseList != nil:
		return f.walk(dot, n.ElseList)
	}
	before := len(f.variables)
	for i, element := range list {
		of := []any{i, element}[2-len(n.Pipe.Decl):] // the last variable is the element
		for k, declared := range n.Pipe.Decl {
			if err := f.set(declared, of[k], n.Pipe.IsAssign); err != nil {
				return err
			}
		}
		if err := f.walk(element, n.List); err != nil {
			return err
		}
		f.forget(before)
	}
	return nil
}

func (f *filler) forget(before int) { f.variables = f.variables[:before] }

// set declares a variable, or changes the innermost of that name.
func (f *filler) set(n *syntax.VariableNode, value any, existing bool) error {
	name := n.Ident[0]
	if !existing {
		f.variables = append(f.variables, variable{name, value})
		return nil
	}
	for i := range slices.Backward(f.variables) {
		if f.variables[i].name == name {
			f.variables[i].value = value
			return nil
		}
	}
	return f.fail(n, errNoVariable)
}

// pipe evaluates commands, each with the value of the one before as its last argument. A range sets the variables of its
// pipe itself.
func (f *filler) pipe(dot any, p *syntax.PipeNode) (any, error) {
	var value any
	for i, c := range p.Cmds {
		args := slices.Clone(c.Args)
		name, called := args[0].(*syntax.IdentifierNode)
		if called {
			args = args[1:]
		}
		var all []any
		for _, a := range args {
			v, err := f.operand(dot, a)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		if i > 0 {
			all = append(all, value)
		}
		switch {
		case called:
			v, err := call(name.Ident, all)
			if err != nil {
				return nil, f.fail(c, err)
			}
			value = v
		case len(all) != 1:
			return nil, f.fail(c, errors.New("it is no function"))
		default:
			value = all[0]
		}
	}
	if len(p.Decl) == 1 {
		return value, f.set(p.Decl[0], value, p.IsAssign)
	}
	return value, nil
}

func (f *filler) operand(dot any, node syntax.Node) (any, error) {
	switch n := node.(type) {
	case *syntax.DotNode:
		return dot, nil
	case *syntax.FieldNode:
		return f.field(n, dot, n.Ident)
	case *syntax.VariableNode:
		for _, v := range slices.Backward(f.variables) {
			if v.name == n.Ident[0] {
				return f.field(n, v.value, n.Ident[1:])
			}
		}
		return nil, f.fail(n, errNoVariable)
	case *syntax.ChainNode:
		of, err := f.operand(dot, n.Node)
		if err != nil {
			return nil, err
		}
		return f.field(n, of, n.Field)
	case *syntax.PipeNode:
		return f.pipe(dot, n)
	case *syntax.StringNode:
		return n.Text, nil
	case *syntax.BoolNode:
		return n.True, nil
	case *syntax.NumberNode:
		if number := int(n.Int64); n.IsInt && strconv.Itoa(number) == n.Text {
			return number, nil
		}
	}
	return nil, f.fail(node, errors.New("it is no value that can be filled in"))
}

func (f *filler) field(n syntax.Node, of any, names []string) (any, error) {
	for _, name := range names {
		all, _ := of.(map[string]any)
		value, ok := all[name]
		if !ok {
			err := fmt.Errorf("can't evaluate field %s", name)
			if len(all) > 0 {
				err = fmt.Errorf("%w; there are %s", err, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
			}
			return nil, f.fail(n, err)
		}
		of = value
	}
	return of, nil
}

// functions are those that placeholders can call, with how many arguments.
func functions() map[string]any {
	return map[string]any{"eq": 2, "ne": 2, "index": 2, "len": 1, "not": 1}
}

func call(name string, args []any) (any, error) {
	if want := functions()[name]; want != len(args) {
		return nil, fmt.Errorf("%s takes %v arguments, not %d", name, want, len(args))
	}
	list, isList := args[0].([]any)
	switch name {
	case "not":
		return !isTrue(args[0]), nil
	case "len":
		if text, ok := args[0].(string); ok {
			return len(text), nil
		}
		if isList {
			return len(list), nil
		}
		return nil, errors.New("only texts and lists have a length")
	case "index":
		i, ok := args[1].(int)
		if !isList || !ok || i < 0 || i >= len(list) {
			return nil, errors.New("it is no place in a list")
		}
		return list[i], nil
	}
	equal := false
	switch a := args[0].(type) {
	case string:
		b, ok := args[1].(string)
		if equal = a == b; !ok {
			return nil, errors.New("only values of one kind are compared")
		}
	case int:
		b, ok := args[1].(int)
		if equal = a == b; !ok {
			return nil, errors.New("only values of one kind are compared")
		}
	default:
		return nil, errors.New("only texts and integers are compared")
	}
	return equal == (name == "eq"), nil
}

// isTrue reports whether a value is neither empty nor 0.
func isTrue(value any) bool {
	switch v := value.(type) {
	case string:
		return v != ""
	case int:
		return v != 0
	case bool:
		return v
	case []any:
		return len(v) > 0
	}
	return value != nil
}
