package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// residentBytes returns what this process holds after a full collection, and the most it ever held.
func residentBytes() (now, peak int64, err error) {
	debug.FreeOSMemory()
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, 0, err
	}
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		var kibibytes int64
		name, value, _ := strings.Cut(lines.Text(), ":")
		fmt.Sscan(value, &kibibytes)
		switch name {
		case "VmRSS":
			now = kibibytes * 1024
		case "VmHWM":
			peak = kibibytes * 1024
		}
	}
	return now, peak, nil
}
