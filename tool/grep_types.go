package tool

import (
	"fmt"
	"slices"
	"strings"
)

// kinds are the names of files by type, as patterns. Names of types are those
// rg has, where it has them.
func kinds() map[string]string {
	return map[string]string{
		"c": "*.{c,h}", "cpp": "*.{cc,cpp,cxx,h,hh,hpp,hxx,inl}", "cs": "*.cs", "csharp": "*.cs", "css": "*.{css,scss}", "csv": "*.csv", "clojure": "*.{clj,cljc,cljs}", "cmake": "{*.cmake,CMakeLists.txt}",
		"dart": "*.dart", "docker": "*Dockerfile*", "elixir": "*.{ex,exs}", "elm": "*.elm", "erlang": "*.{erl,hrl}", "go": "*.go", "gomod": "go.mod", "gradle": "*.{gradle,gradle.kts}", "graphql": "*.{graphql,graphqls}",
		"haskell": "*.{hs,lhs}", "hs": "*.hs", "html": "*.{htm,html}", "java": "*.java", "js": "*.{js,jsx,cjs,mjs,vue}", "json": "*.json", "jsonl": "*.jsonl", "julia": "*.jl", "kotlin": "*.{kt,kts}", "less": "*.less", "lua": "*.lua",
		"make": "{*.mk,*.mak,[Mm]akefile,GNUmakefile}", "markdown": "*.{md,markdown,mdx}", "md": "*.{md,markdown,mdx}", "nix": "*.nix", "objc": "*.{m,h}", "ocaml": "*.{ml,mli}", "perl": "*.{pl,pm,t}", "php": "*.php", "proto": "*.proto", "protobuf": "*.proto",
		"ps": "*.{ps1,psm1}", "py": "*.{py,pyi}", "python": "*.{py,pyi}", "r": "*.{r,R,Rmd}", "rb": "*.{rb,rake,gemspec}", "ruby": "*.{rb,rake,gemspec}", "rust": "*.rs", "rs": "*.rs", "sass": "*.{sass,scss}", "scala": "*.{scala,sbt}", "sh": "*.{sh,bash,zsh}",
		"sql": "*.sql", "svelte": "*.svelte", "swift": "*.swift", "tex": "*.{tex,bib,cls,sty}", "tf": "*.{tf,tfvars}", "toml": "*.toml", "ts": "*.{ts,tsx,cts,mts}", "tsx": "*.tsx", "txt": "*.txt", "vue": "*.vue", "xml": "*.xml", "yaml": "*.{yaml,yml}", "yml": "*.{yaml,yml}", "zig": "*.zig",
	}
}

func kindGlobs(name string) (globs, error) {
	all := kinds()
	pattern, ok := all[name]
	if !ok {
		var names []string
		for k := range all {
			names = append(names, k)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("there is no type %q. Use glob instead, or one of: %s.", name, strings.Join(names, " "))
	}
	return newGlobs(pattern)
}
