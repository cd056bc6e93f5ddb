package repocheck

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/intentlog/intentlog"

// root is the repository's folder, seen from this package.
const root = "../.."

// pkg is what go list tells of one package.
type pkg struct {
	ImportPath   string
	Dir          string
	Name         string
	Doc          string
	GoFiles      []string
	Imports      []string
	Deps         []string
	TestGoFiles  []string
	XTestGoFiles []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	require.NotEmpty(t, all)
	return all
}

// short is an import path inside the module: "" for the root package.
func (p pkg) short() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

func (p pkg) public() bool {
	return p.Name != "main" && !strings.HasPrefix(p.short(), "internal/")
}

func TestPackagesAndExportedNamesAreDocumented(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue // tests only
		}
		if p.Doc == "" {
			t.Errorf("%s: no package comment touches a package clause: say what the package is for", p.ImportPath)
		}
		if !p.public() {
			continue
		}
		for _, name := range undocumented(t, p) {
			t.Errorf("%s.%s: exported without a comment: say shapes, units, errors, who owns the bytes", p.ImportPath, name)
		}
	}
}

// undocumented lists the exported functions, types, methods and values of a
// package that have no comment. A comment on a group counts for its members.
func undocumented(t *testing.T, p pkg) (names []string) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, f := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, f), nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, file)
	}
	d, err := doc.NewFromFiles(fset, files, p.ImportPath)
	require.NoError(t, err)
	funcs := func(prefix string, list []*doc.Func) {
		for _, f := range list {
			if f.Doc == "" && !conventional(f.Name) {
				names = append(names, prefix+f.Name)
			}
		}
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			if v.Doc == "" {
				for _, spec := range v.Decl.Specs {
					if vs := spec.(*ast.ValueSpec); vs.Doc == nil && vs.Comment == nil && ast.IsExported(vs.Names[0].Name) {
						names = append(names, vs.Names[0].Name)
					}
				}
			}
		}
	}
	funcs("", d.Funcs)
	values(d.Consts)
	values(d.Vars)
	for _, typ := range d.Types {
		if typ.Doc == "" {
			names = append(names, typ.Name)
		}
		funcs("", typ.Funcs)
		funcs(typ.Name+".", typ.Methods)
		values(typ.Consts)
		values(typ.Vars)
	}
	return names
}

// conventional methods mean what their interfaces say.
func conventional(name string) bool {
	return slices.Contains([]string{"Error", "Unwrap", "String", "Is"}, name)
}

// arrows are the rooms that each room may import.
var arrows = map[string][]string{
	"intent":                {},
	"receipt":               {"intent"},
	"receipt/httpoutcome":   {},
	"receipt/provider":      {"intent", "receipt"},
	"receipt/receipttest":   {"intent", "receipt", "receipt/httpoutcome"},
	"store":                 {"intent", "internal/bucket"},
	"store/memstore":        {"intent", "store"},
	"store/sqlitestore":     {"intent", "store"},
	"store/sealed":          {"intent", "store"},
	"store/storetest":       {"intent", "store"},
	"store/flussstore":      {"intent", "store", "internal/fluss", "internal/fluss/msg", "internal/fluss/row"},
	"recovery":              {"intent", "receipt", "store"},
	"":                      {"intent", "receipt", "receipt/httpoutcome", "store", "recovery"},
	"internal/bucket":       {},
	"internal/fluss/sticky": {},
	"internal/fluss/wire":   {},
	"internal/fluss/row":    {"internal/fluss/sticky"},
}

func TestImportsRunOneWay(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		room := p.short()
		allowed, ruled := arrows[room]
		seen[room] = true
		for _, imp := range p.Imports {
			inner, ours := strings.CutPrefix(imp, module)
			inner = strings.TrimPrefix(inner, "/")
			switch {
			case !ours:
			case strings.HasPrefix(room, "internal/fluss") && !strings.HasPrefix(inner, "internal/fluss") &&
				inner != "internal/bucket" && !strings.HasPrefix(room, "internal/fluss/flusstest"):
				t.Errorf("%s imports %s: the Fluss client knows nobody", room, inner)
			case strings.HasPrefix(room, "cmd/") && strings.HasPrefix(inner, "internal/"):
				t.Errorf("%s imports %s: commands use public rooms", room, inner)
			case ruled && !slices.Contains(allowed, inner):
				t.Errorf("%s imports %s: may import %v; move the code, or argue for a new arrow here", room, inner, allowed)
			}
		}
	}
	for room := range arrows {
		if !seen[room] {
			t.Errorf("no package %q: take its line out of arrows", room)
		}
	}
}

// bought are the modules that a user's program may come to depend on through the
// packages that are not for tests. The answer to another one is no.
var bought = []string{
	"github.com/google/uuid",        // owner IDs; modernc.org/sqlite needs it anyway
	"github.com/gowebpki/jcs",       // RFC 8785
	"github.com/klauspost/compress", // zstd batches of other Fluss writers
	"github.com/pierrec/lz4/v4",     // lz4 batches of other Fluss writers
	"modernc.org/sqlite",            // the embedded log
	"modernc.org/libc",              // of modernc.org/sqlite, and so on:
	"modernc.org/mathutil",
	"modernc.org/memory",
	"github.com/dustin/go-humanize",
	"github.com/mattn/go-isatty",
	"github.com/ncruces/go-strftime",
	"github.com/remyoudompheng/bigfft",
	"golang.org/x/sys",
	"golang.org/x/exp",
}

func TestPublicPackagesDependOnFewModules(t *testing.T) {
	for _, p := range packages(t) {
		if !p.public() {
			continue
		}
		for _, dep := range p.Deps {
			first, _, _ := strings.Cut(dep, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(dep, module) {
				continue
			}
			ok := slices.ContainsFunc(bought, func(m string) bool { return dep == m || strings.HasPrefix(dep, m+"/") })
			if !ok {
				t.Errorf("%s depends on %s: take a module of the list, or none", p.ImportPath, dep)
			}
		}
	}
}

func TestTestsDoNotSleep(t *testing.T) {
	for _, p := range packages(t) {
		var sleepers []string
		bubbles := false // some file of the package bends time
		for _, f := range append(p.TestGoFiles, p.XTestGoFiles...) {
			text, err := os.ReadFile(filepath.Join(p.Dir, f))
			require.NoError(t, err)
			bubbles = bubbles || bytes.Contains(text, []byte(`"testing/synctest"`))
			if bytes.Contains(text, []byte("time."+"Sleep(")) {
				sleepers = append(sleepers, f)
			}
		}
		if len(sleepers) > 0 && !bubbles {
			t.Errorf("%s: %v sleep: wait for an event, or use testing/synctest", p.short(), sleepers)
		}
	}
}

func TestModuleFileIsFitForUsers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.NotContains(t, string(text), "replace", "a replace line breaks go run MODULE/...@latest")
	require.NotContains(t, string(text), "toolchain")
}
