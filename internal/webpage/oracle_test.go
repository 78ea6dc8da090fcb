package webpage_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"golang.org/x/text/encoding/simplifiedchinese"
	"pgregory.net/rapid"

	"oneloop/internal/webpage"
)

// unread elements have no words of a page in them.
var unread = []string{"script", "style", "title", "template", "svg", "math", "iframe", "noembed", "noframes", "textarea", "select", "object"}

// seen are the words of a page in order, as a reader sees them: inline
// elements do not part a word. With where, each is marked with the elements
// of some names around it.
func seen(n *webpage.Node, where ...string) []string {
	var out []string
	var text strings.Builder
	flush := func(in string) {
		for _, w := range strings.Fields(text.String()) {
			out = append(out, in+w)
		}
		text.Reset()
	}
	var walk func(n *webpage.Node, in string)
	walk = func(n *webpage.Node, in string) {
		if slices.Contains(unread, n.Name) || n.Has("hidden") {
			return
		}
		text.WriteString(n.Text)
		before := in
		if slices.Contains(where, n.Name) {
			in += n.Name + ">"
		}
		if in != before || webpage.Block(n.Name) || n.Name == "br" {
			flush(before)
			defer func() { flush(in) }()
		}
		for _, c := range n.Kids {
			walk(c, in)
		}
	}
	walk(n, "")
	flush("")
	return out
}

// known is the page as golang.org/x/net/html reads it.
func known(t interface{ Fatal(...any) }, page string) *webpage.Node {
	root, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	var same func(n *html.Node) *webpage.Node
	same = func(n *html.Node) *webpage.Node {
		out := &webpage.Node{Name: n.Data}
		switch n.Type {
		case html.TextNode:
			return &webpage.Node{Text: n.Data}
		}
		for _, a := range n.Attr {
			out.Attr = append(out.Attr, webpage.Attr{Name: a.Key, Value: a.Val})
		}
		for c := range n.ChildNodes() {
			if c.Type != html.CommentNode && c.Type != html.DoctypeNode {
				out.Kids = append(out.Kids, same(c))
			}
		}
		return out
	}
	return same(root)
}

// pages are read as golang.org/x/net/html reads them.
var pages = map[string]string{
	"news": `<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Daily &mdash; news</title><style>p > a { color: red }</style>
<script>document.write("<p>not read</p>")</script></head><body class=front><header><a href=/>Daily</a><nav><ul><li><a href=/a>World</a><li><a href=/b>Local</a></ul></nav></header>
<main><article><h1>Bridge opens</h1><p class=lead>After <em>three</em> years the bridge is open.<p>&ldquo;At last,&rdquo; said one.<figure><img src=x.png alt=Bridge><figcaption>The bridge</figcaption></figure>
<aside>Read also: <a href=/c>older</a></aside></article></main><footer><p>&copy; 2020 Daily</footer></body></html>`,
	"docs": `<!doctype html><title>API</title><div class=page><h2 id=open>open<a href="#open" hidden>#</a></h2><pre><code class="lang">if a &lt; b &amp;&amp; c {
	return
}</code></pre><dl><dt>name<dd>the file<dt>mode<dd>how: <code>r</code> or <code>w</code></dl><p>See <a href="?a=1&copy=2&lt=3">there</a>.<hr>end</div>`,
	"table":                 `<table border=1><caption>Sizes</caption><colgroup><col><col></colgroup><thead><tr><th>a<th>b</thead><tbody><tr><td>1<td>2<tr><td>3<td>4</table>after`,
	"table in a table":      `<table><tr><td>a<table><tr><td>b</table>c<td>d</table>e`,
	"table in no cell":      `<table><table><tr><td>a</table>b`,
	"table after a block":   `<table><td>a<tr><div><table>b`,
	"words in no cell":      `x<table>y<tr>z<td>a</td>w<b>v</b></tr>u</table>t`,
	"block in no cell":      `<table><tr><td>a</td></tr><div>b<p>c</div><tr><td>d</table>e`,
	"blanks in cells":       `<table> <caption><b>a</b> <b>b</b></caption> <tr> <td> <b>c</b> <i>d</i> <td><b>e</b> f</td> </tr> </table> <b>g</b> <b>h</b>`,
	"form in a table":       `<table><form action=x><tr><td>a<input><td>b</tr></form></table>c`,
	"cells without a table": `<div><tr><td>a</td><td>b</td></tr></div>c`,
	"rows without a body":   `<table><td>a<td>b<tr>c<td>d</table>`,
	"lists":                 `<ul><li>a<ul><li>b<li>c<ol><li>d</ol>e</ul>f<li>g<p>h<li>i</ul><p>j<ol><li>k</li>l</ol>m`,
	"item in a div":         `<ul><li><div>a<li>b</div>c</ul>d`,
	"paragraphs":            `<p>a<p>b<div>c<p>d</div>e</p>f<p>g<h2>h</h3>i<ul><li>j</ul>k</p>l<span><p>m</span>n`,
	"headings":              `<h1>a<h2>b</h2>c</h1>d<h3>e<p>f</h3>g`,
	"misnested":             `<b>a<i>b</b>c</i>d<a href=1>e<div>f</a>g</div>h<em>i<p>j</em>k</p>l<span>m<div>n</span>o</div>p`,
	"links":                 `<a href=1>a<a href=2>b</a>c</a>d<p><a href=3>e<table><tr><td><a href=4>f</table>g</a>h`,
	"unmatched ends":        `a</b></i></div></li></td></table></body></html>b</p>c</br>d</x></>e</ f>g</1>h`,
	"ends across":           `<div><p>a<b>b</div>c</b>d<ul><li>e</div>f</ul>g<section><span>h</section>i`,
	"entities":              `&lt;b&gt; &amp;amp; &#65;&#x42;&#x80; &nbsp;x &copy &notit; &hellip; &nosuch; &; & &# &#0; &#x110000; &ampx AT&T &frac12;&acE;`,
	"chinese":               `<!doctype html><html><head><title>标题</title><body><h1>新闻</h1><p>第一段，<b>重点</b>。<p>第二段&nbsp;完<table><tr><td>甲<td>乙</table>`,
	"scripts":               `a<script>if (a</b/.x) "</p>" <!-- </script>b<script><!-- <script> x </script> y --></script>c<script type=x>d</SCRIPT >e<template><p>f<table></template>g<style><b></style>h<noscript><p>i</noscript>j`,
	"script in a comment":   `a<script><!--></script>b<script><!-- <scripty> </script>c<script><!-- <script> --></script>d<script>x</scripty></script>e<script><!--><script></script>f`,
	"raw text":              `a<textarea><p>b</textarea>c<title>d<b></title>e<xmp><b>f</b></xmp>g<iframe><p>h</iframe>i<noframes>j</noframes>k<noembed>l</noembed>m`,
	"plain text":            `a<plaintext>b<c></plaintext>d`,
	"comments":              `a<!-- b -->c<!-->d<!--->e<!-- - -- > f --!>g<!---->h<!x y>i<?php j ?>k<!-- l --- m --->n<![CDATA[o]]>p<!DOCTYPE q>r<!--s`,
	"foreign":               `a<svg><title>b</title><style><g></style><path/><text>c</text><![CDATA[<p>d]]></svg>e<math><mi>f</mi></math>g<svg><g><p>h</g>i</svg>j<svg/>k<svg><desc><p>l</p></desc><foreignObject><div>m</div></foreignObject>n</svg>o<svg><br>p`,
	"attributes":            `<p title="a>b" title2='c"d' e=f/g h i = "j"k=l =m n="&quot;&amp;">o</p><P HIDDEN>p</P><p hidden="" Hidden=x>q</p><p/hidden/>r</p><img alt=a><br/><a href=s/>t</a>`,
	"select":                `a<select><option>b<option>c<optgroup><option>d</select>e<select><option>f<input>g<p>h<select><select>i`,
	"buttons":               `<p>a<button>b<p>c</button>d<button>e<button>f</button>g</p>h`,
	"ruby":                  `<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rt>ji</ruby>a`,
	"objects":               `<p>a<object><p>b</object>c<marquee><p>d</p>e</marquee>f</p>g`,
	"less than":             `1 < 2 <3 a<b>c</b> << d <`,
	"cut in a tag":          `<p>a<p>b<a href="x`,
	"cut in a name":         `<p>a<p>b</di`,
	"cut in an entity":      `a &am`,
	"no tags":               "just\ntext",
	"nothing":               "",
	"frames":                `<p>a</p></body></html> b <!-- c --> <p>d`,
	"bytes of nothing":      "a\x00b <p\x00>c <i\x00>d\rx\r\ny\x0cz",
	"parts of a list":       `<dl><dt>a<dd>b<p>c<dd>d<dl><dt>e</dl>f<dt>g</dl><dd>h`,
	"headless":              `<meta charset=x><link rel=y><base href=/z>a<title>b</title>c<head>d</head>e<body id=x>f<html>g`,
}

func TestTheWordsOfAPageAreThoseOfAFullParser(t *testing.T) {
	inside := []string{"p", "title", "a", "li", "td", "th", "pre", "dd", "h1", "h2", "h3", "table", "code"}
	for name, page := range pages {
		if d := cmp.Diff(seen(known(t, page)), seen(webpage.Parse(page))); d != "" {
			t.Errorf("%s: words (-known +ours)\n%s", name, d)
		}
		switch name {
		case "misnested", "links", "headings", "paragraphs", "ends across": // structure of broken pages is not the same everywhere
			continue
		}
		if d := cmp.Diff(seen(known(t, page), inside...), seen(webpage.Parse(page), inside...)); d != "" {
			t.Errorf("%s: words with what they are in (-known +ours)\n%s", name, d)
		}
	}
}

func TestAttributesAreThoseOfAFullParser(t *testing.T) {
	var list func(n *webpage.Node) []string
	list = func(n *webpage.Node) (out []string) {
		if !slices.Contains([]string{"html", "head", "body", "form"}, n.Name) { // which may be left out
			once := map[string]bool{}
			for _, a := range n.Attr {
				if !once[a.Name] { // the first counts
					out = append(out, n.Name+" "+a.Name+"="+n.Value(a.Name))
				}
				once[a.Name] = true
			}
		}
		for _, c := range n.Kids {
			out = append(out, list(c)...)
		}
		return out
	}
	for name, page := range pages {
		if name == "foreign" || name == "misnested" { // there attributes have namespaces; elements come twice
			continue
		}
		got, want := list(webpage.Parse(page)), list(known(t, page))
		slices.Sort(got)
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: (-known +ours)\n%s", name, d)
		}
	}
}

func TestATitleHasNoTagsInIt(t *testing.T) {
	root := webpage.Parse("<title>a <b>&amp;</b></title>c")
	if n := root.Kids[0]; n.Name != "title" || len(n.Kids) != 1 || n.Kids[0].Text != "a <b>&</b>" {
		t.Errorf("%+v", n)
	}
}

func TestAChinesePageIsReadAsAFullParserReadsIt(t *testing.T) {
	page := pages["chinese"]
	gbk, err := simplifiedchinese.GBK.NewEncoder().String(page)
	if err != nil {
		t.Fatal(err)
	}
	got, note := webpage.Decode([]byte(gbk), "text/html; charset=gbk")
	if got != page || note != "" {
		t.Errorf("%q, %q", got, note)
	}
}

// wellFormed draws a page of elements that may lie in one another, with the
// words a reader sees.
func wellFormed(t *rapid.T) (page string, words []string) {
	var b strings.Builder
	word := func() string { return rapid.StringMatching(`[a-zé中]{1,5}`).Draw(t, "word") }
	var fill func(depth int, names []string)
	fill = func(depth int, names []string) {
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			switch k := rapid.IntRange(0, 9).Draw(t, "part"); {
			case k < 4 || depth > 5:
				w := word()
				words = append(words, w)
				b.WriteString(" " + w + " ")
			case k == 4:
				b.WriteString("<script>SECRET('<b>')</script><style>SECRET</style><!-- SECRET <p> -->")
			case k == 5:
				b.WriteString("<br><img alt='SECRET' src=x>")
			case k == 6 && len(names) > 6:
				b.WriteString("<table id=t><tr>")
				for range rapid.IntRange(1, 3).Draw(t, "cells") {
					b.WriteString("<td>")
					fill(depth+1, names)
					b.WriteString("</td>")
				}
				b.WriteString("</tr></table>")
			default:
				name := rapid.SampledFrom(names).Draw(t, "name")
				b.WriteString("<" + name + " class='SECRET'>")
				if slices.Contains([]string{"p", "h2", "em", "span"}, name) {
					fill(depth+1, []string{"em", "span", "kbd"})
				} else {
					fill(depth+1, names)
				}
				b.WriteString("</" + name + ">")
			}
		}
	}
	fill(0, []string{"div", "p", "h2", "ul", "section", "span", "em", "blockquote", "article", "x-card"})
	return b.String(), words
}

func TestEveryWordOfAWellFormedPageComesOutInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		page, words := wellFormed(t)
		if got := seen(webpage.Parse(page)); !slices.Equal(got, words) {
			t.Fatalf("%s\ngot  %q\nwant %q", page, got, words)
		}
	})
}

// soup draws tags in any order, most of them wrong.
func soup(t *rapid.T) string {
	names := []string{"div", "p", "b", "a", "table", "tr", "td", "tbody", "ul", "li", "dl", "dd", "h1", "span", "button", "caption", "section", "font", "pre"}
	parts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		name := rapid.SampledFrom(names).Draw(t, "name")
		return rapid.SampledFrom([]string{"<" + name + ">", "</" + name + ">", " x ", "x", " "}).Draw(t, "part")
	}), 0, 30).Draw(t, "soup")
	for i, p := range parts {
		parts[i] = strings.Replace(p, "x", "w"+string(rune('a'+i%26))+string(rune('a'+i/26)), 1)
	}
	return "<!doctype html>" + strings.Join(parts, "") // without it a p may lie around a table
}

func TestNoWordOfABrokenPageIsLostOrTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		page := soup(t)
		got, want := seen(webpage.Parse(page)), seen(known(t, page))
		if !slices.Equal(got, want) {
			t.Fatalf("%s\ngot  %q\nwant %q", page, got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, page := range pages {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		if d := depth(webpage.Parse(page)); d > webpage.Depth+2 { // a leaf and its text
			t.Errorf("%d deep", d)
		}
		webpage.Decode([]byte(page), page)
	})
}

func depth(n *webpage.Node) int {
	d := 0
	for _, c := range n.Kids {
		d = max(d, 1+depth(c))
	}
	return d
}
