// Package webpage reads web pages: their bytes as text, and their HTML as a
// tree that is good enough to write the page's text from.
package webpage
