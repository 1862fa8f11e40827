package main

import (
	"container/heap"
	"time"
)

// delayingQueue has the shape of client-go's delaying work queue: a heap of pointers ordered by time, and a map from
// each key to its entry.
type delayingQueue struct {
	waiting entryHeap
	known   map[string]*entry
}

type entry struct {
	key     string
	readyAt time.Time
	// index is the entry's place in the heap, kept by Swap and Push.
	index int
}

func newDelayingQueue() *delayingQueue {
	return &delayingQueue{known: map[string]*entry{}}
}

// schedule adds the key, or moves it to another time.
func (q *delayingQueue) schedule(key string, readyAt time.Time) {
	if known, ok := q.known[key]; ok {
		known.readyAt = readyAt
		heap.Fix(&q.waiting, known.index)
		return
	}
	added := &entry{key: key, readyAt: readyAt}
	heap.Push(&q.waiting, added)
	q.known[key] = added
}

func (q *delayingQueue) remove(key string) {
	known, ok := q.known[key]
	if !ok {
		return
	}
	heap.Remove(&q.waiting, known.index)
	delete(q.known, key)
}

// pop takes the key whose time comes first.
func (q *delayingQueue) pop() string {
	first := heap.Pop(&q.waiting).(*entry)
	delete(q.known, first.key)
	return first.key
}

func (q *delayingQueue) len() int { return len(q.waiting) }

type entryHeap []*entry

func (h entryHeap) Len() int           { return len(h) }
func (h entryHeap) Less(i, j int) bool { return h[i].readyAt.Before(h[j].readyAt) }

func (h entryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *entryHeap) Push(x any) {
	added := x.(*entry)
	added.index = len(*h)
	*h = append(*h, added)
}

func (h *entryHeap) Pop() any {
	last := len(*h) - 1
	popped := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return popped
}
