package serve

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// AskHealth asks the serve at a loopback address how it is.
func AskHealth(ctx context.Context, addr string) (h Health, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/healthz", nil)
	if err != nil {
		return h, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	res, err := client.Do(req)
	if err != nil {
		return h, err
	}
	defer res.Body.Close()
	return h, json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&h)
}
