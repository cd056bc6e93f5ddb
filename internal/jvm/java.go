package jvm

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
)

// MinVersion is the oldest Java that the programs started here run on.
const MinVersion = 17

// ErrNoJava says that no Java of at least [MinVersion] is installed.
var ErrNoJava = errors.New("no Java 17 or newer in PATH")

// ErrNoMaven says that jars are not in the cache and there is no Maven to fetch them.
var ErrNoMaven = errors.New("no mvn in PATH")

// Java returns the path of the java command in PATH, after asking it for its version. The answer is
// kept for the life of the process, since asking starts a JVM.
var Java = sync.OnceValues(findJava)

var versionLine = regexp.MustCompile(`version "(\d+)`)

func findJava() (string, error) {
	path, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoJava, err)
	}
	out, err := exec.Command(path, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s -version: %w", ErrNoJava, path, err)
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%w: %s -version printed %q", ErrNoJava, path, out)
	}
	if major, err := strconv.Atoi(string(m[1])); err != nil || major < MinVersion {
		return "", fmt.Errorf("%w: %s has version %s", ErrNoJava, path, m[1])
	}
	return path, nil
}
