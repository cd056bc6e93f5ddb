// Package httpfault holds a worker on real sockets against a network that fails:
// requests and answers that are lost, held back and delivered late, cut in the
// middle, damaged and slow. It has tests only.
package httpfault
