package fluss

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/intentlog/intentlog/internal/fluss/msg"
)

// ask sends a request to one server and decodes the answer.
func (c *Client) ask(ctx context.Context, addr string, req msg.Request, resp msg.Message) error {
	cn, err := c.conn(ctx, req.Key(), addr)
	if err != nil {
		return err
	}
	return cn.roundTrip(ctx, req, resp)
}

// servers lists addresses that may answer what any server can answer: those that are connected already, then tablet servers, the
// coordinator and the bootstrap list. A server may know less than another for a while, so the list begins elsewhere after each answer
// that did not help.
func (c *Client) servers() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	seen := map[string]bool{}
	add := func(addr string) {
		if addr != "" && !seen[addr] {
			seen[addr] = true
			list = append(list, addr)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.tablets)) {
		add(c.tablets[id])
	}
	add(c.coordinator)
	for _, addr := range c.o.Bootstrap {
		add(addr)
	}
	slices.SortStableFunc(list, func(a, b string) int { return c.conns[b].rank() - c.conns[a].rank() })
	if n := len(list); n > 0 {
		turn := int(c.turn.Load()) % n
		list = append(list[turn:], list[:turn]...)
	}
	return list
}

// askAny asks one server after the other until one answers. A refusal is an answer, except of a coordinator that does not lead.
func (c *Client) askAny(ctx context.Context, req msg.Request, resp msg.Message) error {
	var errs []error
	for _, addr := range c.servers() {
		err := c.ask(ctx, addr, req, resp)
		if err == nil {
			return nil
		}
		if code := CodeOf(err); code != msg.None && code != msg.NotCoordinatorLeader {
			return err
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(append([]error{ErrNoServer}, errs...)...)
}

// coordinate sends a request to the leading coordinator, looking for it anew when the one that was known does not lead (any more) or
// cannot be reached. A request that may have arrived is not sent again: creating and dropping are not idempotent.
func (c *Client) coordinate(ctx context.Context, req msg.Request, resp msg.Message) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.RetryTimeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		c.mu.Lock()
		candidates := []string{c.coordinator}
		c.mu.Unlock()
		if candidates[0] == "" || attempt > 0 {
			if _, err := c.learn(ctx); err != nil {
				return fmt.Errorf("look for the coordinator: %w", err)
			}
			c.mu.Lock()
			candidates = append([]string{c.coordinator}, c.o.Bootstrap...)
			c.mu.Unlock()
		}
		var last error
		for _, addr := range candidates {
			if addr == "" {
				last = &TransportError{API: req.Key(), Err: errors.New("no coordinator")}
				continue
			}
			err := c.ask(ctx, addr, req, resp)
			// A tablet server of the bootstrap list has no such API; that only means to look on.
			if err == nil || !(CodeOf(err) == msg.NotCoordinatorLeader || SafeToRetry(err) || errors.Is(err, ErrUnsupported)) {
				return err
			}
			last = err
		}
		if err := sleep(ctx, backoff(attempt)); err != nil {
			return last
		}
	}
}

// backoff grows from 10 ms to 1 s, with jitter so that clients that failed together do not come back together.
func backoff(attempt int) time.Duration {
	d := min(10*time.Millisecond<<min(attempt, 10), time.Second)
	return d/2 + rand.N(d/2+1)
}

// slowBackoff is for conditions that only an operator or much time ends.
func slowBackoff(attempt int) time.Duration {
	return min(time.Second<<min(attempt, 4), 5*time.Second)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
