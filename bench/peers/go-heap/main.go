// Command go-heap measures a delaying queue made of container/heap and a map, and prints its figures as one JSON object.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"
)

type figures struct {
	Entries int `json:"entries"`
	// Nanoseconds per operation.
	AddNs        float64 `json:"addNs"`
	RescheduleNs float64 `json:"rescheduleNs"`
	RemoveNs     float64 `json:"removeNs"`
	PopNs        float64 `json:"popNs"`
	// Live heap per entry, its key included.
	BytesPerEntry float64 `json:"bytesPerEntry"`
	// The longest stop of the whole program by the collector.
	LongestPauseMs float64 `json:"longestPauseMs"`
}

func main() {
	entries := flag.Int("entries", 1_000_000, "how many entries the queue holds")
	flag.Parse()
	if *entries < 2 {
		fmt.Fprintln(os.Stderr, "go-heap: -entries must be at least 2")
		os.Exit(2)
	}
	json.NewEncoder(os.Stdout).Encode(measure(*entries))
}

// measure adds every key, moves every key, removes every other one, and pops the rest.
func measure(entries int) figures {
	const month = 30 * 24 * time.Hour
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Unix(0, 0)
	soon := func() time.Time { return start.Add(time.Duration(random.Int64N(int64(month)))) }

	before := liveBytes()
	keys := makeKeys(entries)
	queue := newDelayingQueue()

	result := figures{Entries: entries}
	result.AddNs = perOperation(entries, func() {
		for _, key := range keys {
			queue.schedule(key, soon())
		}
	})
	const stringHeader = 16 // Of our own list of keys, which is no part of the queue.
	result.BytesPerEntry = float64(liveBytes()-before)/float64(entries) - stringHeader

	random.Shuffle(entries, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	result.RescheduleNs = perOperation(entries, func() {
		for _, key := range keys {
			queue.schedule(key, soon())
		}
	})
	result.RemoveNs = perOperation(entries/2, func() {
		for _, key := range keys[:entries/2] {
			queue.remove(key)
		}
	})
	result.PopNs = perOperation(queue.len(), func() {
		for queue.len() > 0 {
			queue.pop()
		}
	})
	result.LongestPauseMs = longestPauseMs()
	return result
}

// makeKeys makes keys of 30 bytes, each a string of its own as when read from the network.
func makeKeys(count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("namespace-%03d/object-%09d", i%1000, i)
	}
	return keys
}

func perOperation(operations int, run func()) float64 {
	startedAt := time.Now()
	run()
	return float64(time.Since(startedAt).Nanoseconds()) / float64(operations)
}

func liveBytes() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func longestPauseMs() float64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(slices.Max(stats.PauseNs[:])) / 1e6
}
