package flinktest

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnterminated says that a script ends inside a quote, a comment or a statement.
var ErrUnterminated = errors.New("unterminated")

// Statement is one statement of a script.
type Statement struct {
	Text string // without comments around it and without the semicolon
	Line int    // where it begins, from 1
}

// space is what SQL takes for white space. Unicode's other spaces are not: a script that has one outside
// of quotes has a statement there, which the parser shall refuse by its own words.
const space = " \t\n\v\f\r"

// Split divides a script at the semicolons that stand outside of quotes ('text', "text", `name`) and
// comments (-- and // to the end of the line, /* */). Comments become spaces, except hints, /*+ */,
// which belong to the statement. A script whose last statement has no semicolon, or that ends in a
// quote or a comment, is an error that wraps [ErrUnterminated]: such a text was cut off, and what it
// would have said nobody knows.
func Split(script string) ([]Statement, error) {
	var statements []Statement
	var text strings.Builder
	line, begin := 1, 0 // begin is 0 until the statement's first character
	for i := 0; i < len(script); {
		piece, what, err := next(script[i:])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		switch what {
		case semicolon:
			if begin > 0 {
				statements = append(statements, Statement{strings.Trim(text.String(), space), begin})
			}
			text.Reset()
			begin = 0
		case comment:
			text.WriteByte(' ')
		case words:
			if begin == 0 && strings.Trim(piece, space) != "" {
				begin = line
			}
			text.WriteString(piece)
		}
		line += strings.Count(piece, "\n")
		i += len(piece)
	}
	if begin > 0 {
		return nil, fmt.Errorf("line %d: %w statement: no semicolon after %.40q", begin, ErrUnterminated, strings.Trim(text.String(), space))
	}
	return statements, nil
}

type token int

const (
	words token = iota // a character or a quoted text
	comment
	semicolon
)

// next returns the first token of a script that is not empty.
func next(s string) (piece string, what token, err error) {
	switch {
	case s[0] == ';':
		return s[:1], semicolon, nil
	case s[0] == '\'', s[0] == '"', s[0] == '`':
		// A doubled quote inside is read as the end of one text and the beginning of another, which comes
		// to the same.
		end := strings.IndexByte(s[1:], s[0])
		if end < 0 {
			return "", 0, fmt.Errorf("%w quote %.40q", ErrUnterminated, s)
		}
		return s[:end+2], words, nil
	case strings.HasPrefix(s, "--"), strings.HasPrefix(s, "//"):
		end := strings.IndexByte(s, '\n')
		if end < 0 {
			end = len(s)
		}
		return s[:end], comment, nil
	case strings.HasPrefix(s, "/*"):
		end := strings.Index(s[2:], "*/")
		if end < 0 {
			return "", 0, fmt.Errorf("%w comment %.40q", ErrUnterminated, s)
		}
		if strings.HasPrefix(s, "/*+") {
			return s[:end+4], words, nil
		}
		return s[:end+4], comment, nil
	default:
		return s[:1], words, nil
	}
}
