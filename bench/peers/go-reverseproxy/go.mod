module sojourn.dev/bench/go-reverseproxy

go 1.26
