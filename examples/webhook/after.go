package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/intentlog/intentlog"
)

// after is the same program with durable intents.
func after(ctx context.Context, w *intentlog.Worker, url string, ev event) error {
	client := &http.Client{Transport: w.Transport(nil)}
	ctx = intentlog.WithAction(ctx, ev.job(), ev.action())
	body, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", url+"/hooks", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("subscriber: %s", resp.Status)
	}
	return nil
}
