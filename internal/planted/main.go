// Command planted shows that the tests can fail: it plants known mistakes in the
// library, one at a time, and runs the tests that must catch them.
//
//	go run ./internal/planted             # all, a few minutes
//	go run ./internal/planted -run 404    # those whose name matches
//
// Each plant is a file in testdata. The sources stay as they are: the wrong variant
// reaches the compiler as an overlay. A plant counts as caught only if it compiles,
// and if its tests pass without it and fail with it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("planted", flag.ContinueOnError)
	only := flags.String("run", "", "only the plants whose name matches this `pattern`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	root, err := command(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	tmp, err := os.MkdirTemp("", "planted")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	g := &garden{root: strings.TrimSpace(string(root)), tmp: tmp, clean: map[string]string{}}
	plants, err := load(g.root)
	if err != nil {
		return err
	}
	caught, all := 0, 0
	for _, p := range plants {
		if !match.MatchString(p.name) {
			continue
		}
		all++
		start := time.Now()
		err := g.check(ctx, &p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		word := "caught"
		switch {
		case err == nil:
			caught++
		case errors.Is(err, errSkips):
			word = "skipped"
			all--
		default:
			word = "MISSED"
		}
		fmt.Fprintf(out, "%-7s  %-32s %s (%s %s, %.1f s)\n", word, p.name, p.what, p.pkg, p.test, time.Since(start).Seconds())
		if err != nil {
			fmt.Fprintf(out, "        %v\n", err)
		}
	}
	fmt.Fprintf(out, "%d of %d caught\n", caught, all)
	if *only == "" {
		fmt.Fprintf(out, "figure: planted/mistakes-caught %d\n", caught)
	}
	if caught != all || all == 0 {
		return fmt.Errorf("%d of %d planted mistakes were not caught", all-caught, all)
	}
	return nil
}

// errSkips says that the machine lacks what the test needs.
var errSkips = errors.New("the test skips on this machine")

// garden is where plants are tried.
type garden struct {
	root, tmp string
	clean     map[string]string // test programs without a plant, by package
}

// check returns nil if the plant is caught.
func (g *garden) check(ctx context.Context, p *plant) error {
	wrong, err := p.apply(g.root)
	if err != nil {
		return err
	}
	clean, ok := g.clean[p.pkg]
	if !ok {
		clean = filepath.Join(g.tmp, fmt.Sprintf("clean-%d.test", len(g.clean)))
		if err := g.build(ctx, clean, p.pkg); err != nil {
			return fmt.Errorf("build without the plant: %w", err)
		}
		g.clean[p.pkg] = clean
	}
	if text, err := g.test(ctx, clean, p); err != nil {
		return fmt.Errorf("the test fails without the plant: %w\n%s", err, tail(text))
	} else if strings.Contains("\n"+text, "\n--- SKIP: ") {
		return errSkips
	} else if !strings.Contains(text, "--- PASS: ") {
		return fmt.Errorf("no test of %s is named %s", p.pkg, p.test)
	}

	overlay, planted := filepath.Join(g.tmp, "overlay.json"), filepath.Join(g.tmp, "planted.test")
	replace := map[string]string{}
	for name, text := range wrong {
		replace[name] = filepath.Join(g.tmp, fmt.Sprintf("source-%d.go", len(replace)))
		if err := os.WriteFile(replace[name], []byte(text), 0o600); err != nil {
			return err
		}
	}
	files, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, files, 0o600); err != nil {
		return err
	}
	if err := g.build(ctx, planted, "-overlay="+overlay, p.pkg); err != nil {
		return fmt.Errorf("the plant does not compile, which proves nothing: %w", err)
	}
	text, err := g.test(ctx, planted, p)
	switch {
	case err == nil:
		return errors.New("the test passes with the plant")
	case !strings.Contains(text, "--- FAIL: ") && !strings.Contains(text, "panic: "):
		return fmt.Errorf("the test did not run: %w\n%s", err, tail(text))
	}
	return nil
}

func (g *garden) build(ctx context.Context, to string, args ...string) error {
	cmd := command(ctx, g.root, "go", append([]string{"test", "-c", "-ldflags=-w", "-o", to}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(string(out)))
	}
	return nil
}

func (g *garden) test(ctx context.Context, program string, p *plant) (string, error) {
	dir := filepath.Join(g.root, filepath.FromSlash(p.pkg))
	cmd := command(ctx, dir, program, "-test.run="+p.test, "-test.v", "-test.count=1", "-test.failfast", "-test.timeout=60s")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	return cmd
}

// tail is the end of a test's output.
func tail(text string) string { return text[max(0, len(text)-2000):] }
