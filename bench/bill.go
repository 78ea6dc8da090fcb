package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// A bill adds up what the requests of one conversation cost, in the price of
// one token that is read anew. It knows the prompt cache as the API describes
// it: what a mark closes is written to the cache and costs 1.25, for an hour
// 2; what a later request begins with, up to a mark or one of the twenty
// blocks before it, is read from there and costs 0.1. A token is four bytes of
// JSON, so that the bill compares programs and is none of the API's.
type bill struct {
	written map[[sha256.Size]byte]bool // beginnings in the cache
	total   float64
}

const (
	tokenBytes  = 4
	leastCached = 1024 // tokens; a shorter beginning is not kept
	lookBack    = 20   // blocks
)

// piece is a block of a prompt.
type piece struct {
	text string // JSON without the mark
	mark bool   // the cache may end here
	hour bool   // and is kept for an hour
}

// add puts a request on the bill.
func (b *bill) add(body []byte) error {
	pieces, err := prompt(body)
	if err != nil {
		return err
	}
	if b.written == nil {
		b.written = map[[sha256.Size]byte]bool{}
	}
	sums, sizes := make([][sha256.Size]byte, len(pieces)), make([]int, len(pieces))
	var sum [sha256.Size]byte
	bytes := 0
	for i, p := range pieces {
		sum = sha256.Sum256(append(sum[:], p.text...))
		bytes += len(p.text)
		sums[i], sizes[i] = sum, bytes/tokenBytes
	}
	read, end, price := 0, 0, 1.25
	var fresh [][sha256.Size]byte
	for i, p := range pieces {
		if !p.mark || sizes[i] < leastCached {
			continue
		}
		for at := i; at >= 0 && at > i-lookBack; at-- {
			if b.written[sums[at]] {
				read = max(read, sizes[at])
				break
			}
		}
		end = sizes[i]
		if p.hour {
			price = 2
		}
		fresh = append(fresh, sums[i])
	}
	for _, s := range fresh {
		b.written[s] = true
	}
	write := max(0, end-read)
	b.total += 0.1*float64(read) + price*float64(write) + float64(bytes/tokenBytes-read-write)
	return nil
}

// prompt takes a request apart in the order in which a model reads it.
func prompt(body []byte) ([]piece, error) {
	var req struct {
		Tools, System json.RawMessage
		Messages      []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("parse a request: %w", err)
	}
	out, err := pieces(nil, "tool:", req.Tools)
	if err == nil {
		out, err = pieces(out, "system:", req.System)
	}
	for _, m := range req.Messages {
		if err == nil {
			out, err = pieces(out, m.Role+":", m.Content)
		}
	}
	return out, err
}

// pieces adds the blocks of a list, or a text that stands for one block.
func pieces(out []piece, role string, raw json.RawMessage) ([]piece, error) {
	if len(raw) == 0 {
		return out, nil
	}
	if raw[0] == '"' {
		return append(out, piece{text: role + `{"type":"text","text":` + string(raw) + `}`}), nil
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("parse the blocks of a request: %w", err)
	}
	for _, block := range list {
		var mark *struct{ TTL string }
		if c := block["cache_control"]; c != nil {
			if err := json.Unmarshal(c, &mark); err != nil {
				return nil, fmt.Errorf("parse a mark of the cache: %w", err)
			}
		}
		delete(block, "cache_control")
		text, err := json.Marshal(block)
		if err != nil {
			return nil, err
		}
		out = append(out, piece{role + string(text), mark != nil, mark != nil && mark.TTL == "1h"})
	}
	return out, nil
}
