package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

var (
	url    string
	client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
	body   = `{"ticket":"ticket-1042","outcome":"needs-followup","note":"` + strings.Repeat("x", 400) + `"}`
)

func post(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func workflow(c dbos.Context, _ string) (string, error) { return dbos.RunAsStep(c, post) }

func dbosIn(dir string, many bool) (float64, error) {
	dir, err := os.MkdirTemp(dir, "dbos")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	return dbosAt("sqlite:"+filepath.Join(dir, "d.db"), many)
}

// dbosAt measures a workflow with one step that posts, the smallest durable call
// that DBOS has.
func dbosAt(database string, many bool) (float64, error) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	defer srv.Close()
	url = srv.URL
	ctx, err := dbos.NewContext(context.Background(), dbos.Config{
		DatabaseURL: database, AppName: "bench", Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return 0, err
	}
	dbos.RegisterWorkflow(ctx, workflow)
	if err := dbos.Launch(ctx); err != nil {
		return 0, err
	}
	defer dbos.Shutdown(ctx, 2*time.Second)
	call := func(int) error {
		h, err := dbos.RunWorkflow(ctx, workflow, "x")
		if err != nil {
			return err
		}
		out, err := h.GetResult()
		if err == nil && out == "" {
			err = errors.New("no result")
		}
		return err
	}
	if _, err := latency(100, call); err != nil { // warm up
		return 0, err
	}
	if many {
		return rate(2000, 64, call)
	}
	return latency(500, call)
}
