module sojourn.dev/bench/go-heap

go 1.26.0
