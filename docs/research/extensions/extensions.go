// Package extensions shows what an extension of the program costs. Those that a program of
// one's own registers are packages below this folder, of one file each. Each patch in this folder
// adds another one, with a test, and the test of this package counts the files of code that it
// touches. CONTRIBUTING.md says what else each one needs. The patches are examples, no
// features; where one no longer applies, make the same change again and save its diff
// with git diff -U1.
package extensions
