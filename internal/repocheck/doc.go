// Package repocheck holds the rules of the house as tests: what every package,
// document and module file of this repository must satisfy. It has no code.
package repocheck
