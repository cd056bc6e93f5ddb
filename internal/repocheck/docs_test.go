package repocheck

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// files lists what belongs to the repository, with the given endings.
func files(t *testing.T, endings ...string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		for _, e := range endings {
			if strings.HasSuffix(path, e) {
				names = append(names, path)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, names)
	return names
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	for _, name := range files(t, ".md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: link to %s leads nowhere", name, m[1])
			}
		}
	}
}

var fence = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestGoCodeInDocumentsIsCompiledCode looks for each Go fence, line by line, as a
// run of lines in a Go file: what readers copy has been compiled.
func TestGoCodeInDocumentsIsCompiledCode(t *testing.T) {
	var sources []string
	for _, name := range files(t, ".go") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		sources = append(sources, squeeze(string(text)))
	}
	for _, name := range files(t, ".md") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
			found := false
			for _, src := range sources {
				found = found || strings.Contains(src, squeeze(m[1]))
			}
			if !found {
				t.Errorf("%s: this Go code stands in no Go file; make it part of an Example:\n%s", name, m[1])
			}
		}
	}
}

// squeeze drops indentation and empty lines.
func squeeze(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// unwelcome are words that speak of how or where the work was done.
var unwelcome = []string{
	"TO" + "DO", "FIX" + "ME", "XX" + "X:", "/ro" + "ot/", "/wo" + "rk/", "../sha" + "red", "DESIGN" + ".md", "FAULTS" + ".md",
	"exactly-" + "once", "proxy.gol" + "ang.org", "repo.mav" + "en", "repo1.mav" + "en", "py" + "pi.org",
}

func TestTheProjectSpeaksOfItselfAlone(t *testing.T) {
	for _, name := range files(t, ".go", ".md", ".java", ".xml", ".sql", ".yml", "run") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, word := range unwelcome {
			if strings.Contains(string(text), word) {
				t.Errorf("%s: %q does not belong here", name, word)
			}
		}
	}
}

func TestNothingBuiltOrFetchedIsCommitted(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("not a git checkout")
	}
	cmd := exec.Command("git", "ls-files")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		name := strings.TrimSpace(line)
		for _, ending := range []string{".jar", ".class", ".db", ".test", ".exe", ".out", ".pyc"} {
			if strings.HasSuffix(name, ending) {
				t.Errorf("%s is committed", name)
			}
		}
	}
}

// TestTheReadmesFiguresAreThoseOfTheTests compares the numbers that the README
// repeats with the table that the tests fill.
func TestTheReadmesFiguresAreThoseOfTheTests(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	table, err := os.ReadFile(filepath.Join(root, "docs", "testing.md"))
	require.NoError(t, err)
	for name, words := range map[string]string{
		"schedules/run":                 "schedules of crashes",
		"disk/faulty-system-calls-long": "faults at system calls",
		"disk/power-cuts":               "power cuts",
		"planted/mistakes-caught":       "planted mistakes",
	} {
		m := regexp.MustCompile("(?m)^\\| `" + name + "` \\| *([0-9]+)").FindStringSubmatch(string(table))
		require.NotNil(t, m, "docs/testing.md has no figure %s", name)
		require.Contains(t, string(readme), m[1]+" "+words)
	}
}
