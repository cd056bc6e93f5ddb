package jvm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Bundle is a set of jars that a Maven POM names: its runtime dependencies and theirs.
type Bundle struct {
	// Name begins the name of the cache folder.
	Name string
	// POM is the text of the project file; it is not changed.
	POM []byte
	// Properties are further definitions for Maven, each of the form name=value, that the POM uses as
	// ${name}. They are part of the bundle's identity.
	Properties []string
}

// ErrNotFetched says that a bundle's jars are not in the cache.
var ErrNotFetched = errors.New("jars are not in the cache")

// Cached returns the class path of the bundle if an earlier Fetch has left it in the cache folder, and
// [ErrNotFetched] otherwise. It does not use the network.
func (b Bundle) Cached() (string, error) {
	dir, err := b.dir()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s: %w", dir, ErrNotFetched)
		}
		return "", err
	}
	return filepath.Join(dir, "*"), nil
}

// Available returns nil when Java and the jars are there, and the reason otherwise. With fetch it lets
// Maven get missing jars; without, it does not use the network.
func (b Bundle) Available(ctx context.Context, fetch bool) error {
	if _, err := Java(); err != nil {
		return err
	}
	if fetch {
		_, err := b.Fetch(ctx)
		return err
	}
	_, err := b.Cached()
	return err
}

// Fetch returns the class path of the bundle and lets Maven fetch the jars the first time, into a
// folder under the user's cache directory. Afterwards no network is used. Of several processes that
// fetch the same bundle at once, one does and the others wait for it. A Fetch that is interrupted
// leaves nothing that a later one takes for complete.
func (b Bundle) Fetch(ctx context.Context) (string, error) {
	if cp, err := b.Cached(); !errors.Is(err, ErrNotFetched) {
		return cp, err
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", b.Name, ErrNoMaven)
	}
	dir, err := b.dir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", b.Name, err)
	}
	defer unlock()
	if cp, err := b.Cached(); !errors.Is(err, ErrNotFetched) {
		return cp, err // another process was here first
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	pom, lib := filepath.Join(tmp, "pom.xml"), filepath.Join(tmp, "lib")
	if err := os.WriteFile(pom, b.POM, 0o644); err != nil {
		return "", err
	}
	args := []string{
		"-B", "-q", "-Dstyle.color=never", "-f", pom, "dependency:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory=" + lib,
	}
	for _, p := range b.Properties {
		args = append(args, "-D"+p)
	}
	if out, err := exec.CommandContext(ctx, mvn, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch %s: mvn: %w: %s", b.Name, err, tail(out, 10))
	}
	renamed := os.Rename(lib, dir)
	cp, err := b.Cached() // where locks do not work, another process may have come first
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", b.Name, errors.Join(renamed, err))
	}
	return cp, nil
}

// dir names the cache folder by everything that decides what is in it.
func (b Bundle) dir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(b.POM)
	h.Write([]byte("\x00" + strings.Join(b.Properties, "\x00")))
	return filepath.Join(cache, "intentlog", b.Name+"-"+hex.EncodeToString(h.Sum(nil)[:8])), nil
}

// tail returns the last n lines of a text.
func tail(text []byte, n int) string {
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
