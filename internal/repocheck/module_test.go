package repocheck

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnEmptyModuleCanGetTheLibrary serves this checkout as a module through a
// local file proxy and uses it as a stranger would. All other modules come from
// this machine's module cache, so nothing is downloaded.
func TestAnEmptyModuleCanGetTheLibrary(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("not a git checkout: the files of the module are not known")
	}
	const version = "v0.0.1"
	proxy := t.TempDir()
	serve(t, proxy, version)

	cache := strings.TrimSpace(run(t, root, nil, "go", "env", "GOMODCACHE"))
	dir := t.TempDir()
	env := []string{
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",file://" + filepath.ToSlash(filepath.Join(cache, "cache", "download")),
		"GOMODCACHE=" + filepath.Join(dir, "cache"), "GONOSUMDB=" + module, "GONOSUMCHECK=1", "GOFLAGS=-modcacherw -trimpath", "GOWORK=off", "GOSUMDB=off",
	}
	app := filepath.Join(dir, "app")
	require.NoError(t, os.Mkdir(app, 0o755))
	program := `package main

import (
	"context"
	"fmt"

	"github.com/intentlog/intentlog"
	"github.com/intentlog/intentlog/store/sqlitestore"
)

func main() {
	st, err := sqlitestore.Open("intents.db", nil)
	if err != nil {
		panic(err)
	}
	defer st.Close()
	w, err := intentlog.Open(context.Background(), st, "stranger", nil)
	if err != nil {
		panic(err)
	}
	defer w.Close()
	report, err := w.Recover(context.Background())
	fmt.Println(len(report.Decisions), err)
}
`
	require.NoError(t, os.WriteFile(filepath.Join(app, "main.go"), []byte(program), 0o644))
	run(t, app, env, "go", "mod", "init", "example.org/stranger")
	run(t, app, env, "go", "get", module+"@"+version)
	run(t, app, env, "go", "get", ".")
	require.Equal(t, "0 <nil>\n", run(t, app, env, "go", "run", "."))
	require.NotContains(t, run(t, app, env, "go", "list", "-m", "all"), "hashicorp/go-retryablehttp", "peers stay in modules of their own")
}

// serve lays out the checkout as a file module proxy does.
func serve(t *testing.T, proxy, version string) {
	dir := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("list", version+"\n")
	write(version+".info", fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version))
	write(version+".mod", string(mod))
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	require.NoError(t, err)
	z := zip.NewWriter(f)
	listed := strings.Split(strings.TrimSpace(run(t, root, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard")), "\n")
	var nested []string
	for _, name := range listed {
		if dir, ok := strings.CutSuffix(name, "/go.mod"); ok {
			nested = append(nested, dir+"/")
		}
	}
files:
	for _, name := range listed {
		for _, dir := range nested {
			if strings.HasPrefix(name, dir) {
				continue files
			}
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, not yet committed
		}
		require.NoError(t, err)
		w, err := z.Create(module + "@" + version + "/" + name)
		require.NoError(t, err)
		_, err = w.Write(text)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
}

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), errs.String())
	return string(out)
}
