// Command fill writes the figures that tests printed into the tables of
// docs/testing.md:
//
//	go test -v ./... | go run ./internal/figure/fill
//
// A row begins with the name of its figure in backquotes and then its value. A
// figure that is printed more than once is the sum. Rows whose figure was not
// printed stay as they are; a figure without a row is an error.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"

	"github.com/intentlog/intentlog/internal/figure"
)

const doc = "docs/testing.md"

func main() {
	if err := run(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
}

func run(in io.Reader) error {
	figures, err := gather(in)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		return err
	}
	filled, err := fill(text, figures)
	if err != nil {
		return fmt.Errorf("%s: %w", doc, err)
	}
	return os.WriteFile(doc, filled, 0o644)
}

// gather adds up the figures in the output of tests.
func gather(in io.Reader) (map[string]int, error) {
	figures := map[string]int{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		m := figure.Pattern.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, fmt.Errorf("figure %s: %w", m[1], err)
		}
		figures[m[1]] += n
	}
	return figures, lines.Err()
}

// fill puts the figures into their rows.
func fill(text []byte, figures map[string]int) ([]byte, error) {
	var errs []error
	for name, n := range figures {
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(name) + "` \\|[^|]*\\|")
		if !row.Match(text) {
			errs = append(errs, fmt.Errorf("there is no row for figure %s", name))
			continue
		}
		text = row.ReplaceAllLiteral(text, fmt.Appendf(nil, "| `%s` | %d |", name, n))
	}
	return text, errors.Join(errs...)
}
