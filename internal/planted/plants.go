package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// plant is one wrong variant of the library, and the test that must catch it.
//
//	what: a bare 404 is taken for an absence
//	in: receipt
//	test: ./receipt TestHTTPLookupTable/row_24
//	--- old
//	lines as they stand, once, in the package
//	+++ new
//	lines in their place
//
// There may be several pairs of old and new.
type plant struct {
	name  string // of its file in testdata, without the ending
	what  string
	dir   string // the package that is changed, in the module; "." for the root
	pkg   string // of the test, as the go command takes it
	test  string // a pattern for -run
	edits []edit
}

type edit struct{ old, new string }

// load reads all plants of the module at root.
func load(root string) (plants []plant, err error) {
	names, err := filepath.Glob(filepath.Join(root, "internal", "planted", "testdata", "*.txt"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		p, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		p.name = strings.TrimSuffix(filepath.Base(name), ".txt")
		plants = append(plants, p)
	}
	return plants, nil
}

func parse(text string) (p plant, err error) {
	part := &strings.Builder{} // what lines are added to
	head, olds, news := part, []*strings.Builder(nil), []*strings.Builder(nil)
	for line := range strings.Lines(text) {
		switch strings.TrimSpace(line) {
		case "--- old":
			part = &strings.Builder{}
			olds = append(olds, part)
		case "+++ new":
			part = &strings.Builder{}
			news = append(news, part)
		default:
			part.WriteString(line)
		}
	}
	for line := range strings.Lines(head.String()) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "what":
			p.what = value
		case "in":
			p.dir = value
		case "test":
			p.pkg, p.test, _ = strings.Cut(value, " ")
		default:
			return p, fmt.Errorf("unknown line %q", line)
		}
	}
	if p.what == "" || p.dir == "" || p.test == "" || len(olds) == 0 || len(olds) != len(news) {
		return p, errors.New("incomplete")
	}
	for i := range olds {
		p.edits = append(p.edits, edit{olds[i].String(), news[i].String()})
	}
	return p, nil
}

// apply returns the wrong variants of the files that it changes, by their paths.
// Lines are looked for in the whole package, since code moves from file to file.
func (p *plant) apply(root string) (map[string]string, error) {
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p.dir), "*.go"))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files[name] = string(text)
	}
	changed := map[string]string{}
	for _, e := range p.edits {
		count, in := 0, ""
		for name, text := range files {
			if n := strings.Count(text, e.old); n > 0 {
				count, in = count+n, name
			}
		}
		if count != 1 || e.old == e.new {
			return nil, fmt.Errorf("%s: these lines stand there %d times, want once, and other ones in their place:\n%s", p.dir, count, e.old)
		}
		files[in] = strings.Replace(files[in], e.old, e.new, 1)
		changed[in] = files[in]
	}
	return changed, nil
}
