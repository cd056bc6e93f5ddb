package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFiguresGoIntoTheirRows(t *testing.T) {
	figures, err := gather(strings.NewReader("    x_test.go:3: figure: disk/kills 3\nok\nfigure: disk/kills 4\n"))
	require.NoError(t, err)
	text, err := fill([]byte("| `disk/kills` | 1 | why |\n| `disk/kills-long` | 1 | why |\n"), figures)
	require.NoError(t, err)
	require.Equal(t, "| `disk/kills` | 7 | why |\n| `disk/kills-long` | 1 | why |\n", string(text))
	_, err = fill(nil, figures)
	require.ErrorContains(t, err, "no row for figure disk/kills")
}

// TestTheDocumentAndTheTestsNameTheSameFigures: a row that nothing fills is a number
// that somebody typed, and a figure without a row is read by nobody.
func TestTheDocumentAndTheTestsNameTheSameFigures(t *testing.T) {
	const root = "../../.."
	text, err := os.ReadFile(filepath.Join(root, doc))
	require.NoError(t, err)
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9/-]+)` \\| *([0-9]+|not run) *\\|").FindAllStringSubmatch(string(text), -1) {
		require.False(t, rows[m[1]], "figure %s has two rows", m[1])
		rows[m[1]] = true
	}
	require.NotEmpty(t, rows)
	printed := map[string]bool{}
	print := regexp.MustCompile(`figure\.Print\([^"]*"([a-z0-9/-]+)"|figure: ([a-z0-9/-]+) [%$]|name :?= "([a-z0-9]+/[a-z0-9/-]+)"`)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "internal/figure") {
			return err
		}
		if !strings.HasSuffix(path, ".go") && path != filepath.Join(root, ".ci/run") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range print.FindAllStringSubmatch(string(source), -1) {
			printed[m[1]+m[2]+m[3]] = true
		}
		return err
	})
	require.NoError(t, err)
	delete(printed, "")
	require.Equal(t, printed, rows)
}
