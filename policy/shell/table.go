package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// entry is one program of the read-only table: the options that are known to
// change nothing and to run nothing, and what its operands are. An option
// that is not listed is not known, and the command is not read-only.
//
// Options are separated by blanks. "n=" takes a value, "--color=?" takes one
// only behind a =, "-#" is a number as in head -5. Short options are written
// without their dash and may be joined, as in ls -la.
type entry struct {
	options string
	files   int  // operands from this one on are files; -1: none of them is
	words   bool // nothing it is given is an option, as with echo
	none    bool // it takes no operands
	// check says why what it is given changes something; nil: it does not.
	check func(options map[string][]string, operands []string) *Reason
}

// table holds the programs that only look. What a program can be talked into
// running or writing decides, not what it is for: sort writes with -o, awk and
// xargs run programs, env, date, hostname and history set things, less and
// man start others, tree and column write files in some versions.
var table = map[string]entry{
	"true":  {words: true, files: -1},
	"false": {words: true, files: -1},
	"echo":  {words: true, files: -1},
	"cd": {check: func(_ map[string][]string, operands []string) *Reason {
		if len(operands) != 1 || operands[0] == "" || operands[0] == "-" {
			return Because("goes-somewhere", "where it goes is not written in it")
		}
		return nil
	}},
	"pwd": {options: "L P", none: true, files: -1},
	"ls": {options: "a A b B c C d f F g G h H i I= k l L m n N o p q Q r R s S t T= u U v w= x X 1 Z --all --almost-all --author --escape " +
		"--block-size= --ignore-backups --color=? --directory --classify=? --file-type --format= --full-time --group-directories-first " +
		"--no-group --human-readable --si --dereference-command-line --hide= --indicator-style= --inode --ignore= --kibibytes --dereference " +
		"--numeric-uid-gid --literal --hide-control-chars --quote-name --quoting-style= --reverse --recursive --size --sort= --time= --time-style= --width= --zero"},
	"cat":  {options: "A b e E n s t T u v --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting"},
	"head": {options: "c= n= q v z -# --bytes= --lines= --quiet --silent --verbose --zero-terminated"},
	"tail": {options: "c= n= q v z -# --bytes= --lines= --quiet --silent --verbose --zero-terminated"},
	"wc":   {options: "c m l L w --bytes --chars --lines --max-line-length --words --total="},
	"grep": {options: "E F G P i y v w x c l L q s o m= n H h b Z T z a U r A= B= C= e= -# --extended-regexp --fixed-strings --basic-regexp --perl-regexp " +
		"--ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --files-with-matches --files-without-match --quiet --silent " +
		"--no-messages --only-matching --max-count= --line-number --with-filename --no-filename --byte-offset --null --initial-tab --text --binary " +
		"--binary-files= --recursive --include= --exclude= --exclude-dir= --after-context= --before-context= --context= --regexp= --color=? --colour=? " +
		"--line-buffered --null-data", files: 1, check: pattern("e", "--regexp")},
	"rg": {options: "i S s w x v c l o n N H I F P U e= g= t= T= m= A= B= C= M= j= u . p q 0 d= r= -# --files --hidden --no-hidden --no-ignore " +
		"--no-ignore-vcs --no-ignore-parent --no-ignore-dot --type= --type-not= --type-list --glob= --iglob= --count --count-matches --files-with-matches " +
		"--files-without-match --line-number --no-line-number --ignore-case --smart-case --case-sensitive --word-regexp --line-regexp --invert-match " +
		"--fixed-strings --pcre2 --multiline --multiline-dotall --only-matching --max-count= --max-depth= --after-context= --before-context= --context= " +
		"--color= --heading --no-heading --json --stats --sort= --sortr= --no-messages --quiet --regexp= --replace= --trim --vimgrep --with-filename " +
		"--no-filename --max-columns= --max-columns-preview --max-filesize= --threads= --null --no-config --passthru --column --no-column --unrestricted",
		files: 1, check: pattern("e", "--regexp", "--files", "--type-list")},
	"stat":     {options: "c= f t L --format= --printf= --terse --file-system --dereference"},
	"du":       {options: "a b c d= h k m s S x 0 t= --all --apparent-size --bytes --total --max-depth= --human-readable --summarize --si --exclude= --separate-dirs --one-file-system --threshold= --time=? --block-size= --inodes --null"},
	"df":       {options: "a h H i k l P T t= x= B= --all --human-readable --si --inodes --local --portability --print-type --type= --exclude-type= --total --output=? --block-size="},
	"basename": {options: "a s= z --multiple --suffix= --zero", files: -1},
	"dirname":  {options: "z --zero", files: -1},
	"realpath": {options: "e m s z q L P --canonicalize-existing --canonicalize-missing --logical --physical --quiet --strip --no-symlinks --zero --relative-to= --relative-base="},
	"uname":    {options: "a s n r v m p i o --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --hardware-platform --operating-system", none: true, files: -1},
	"whoami":   {none: true, files: -1},
	"id":       {options: "u g G n r z --user --group --groups --name --real --zero", files: -1},
	"cut":      {options: "b= c= d= f= n s z --bytes= --characters= --delimiter= --fields= --only-delimited --complement --output-delimiter= --zero-terminated"},
	"tr":       {options: "c C d s t --complement --delete --squeeze-repeats --truncate-set1", files: -1},
	"nl":       {options: "b= d= f= h= i= l= n= p s= v= w= --body-numbering= --section-delimiter= --footer-numbering= --header-numbering= --line-increment= --join-blank-lines= --number-format= --no-renumber --number-separator= --starting-line-number= --number-width="},
	"cmp":      {options: "b i= l n= s --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent"},
	"diff": {options: "q s c C= u U= e n y W= p F= t T a i E Z b w B r N S= x= d I= --brief --report-identical-files --context=? --unified=? --ed --rcs --normal " +
		"--side-by-side --width= --left-column --suppress-common-lines --show-c-function --show-function-line= --label= --expand-tabs --initial-tab --recursive " +
		"--new-file --exclude= --starting-file= --ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space " +
		"--ignore-blank-lines --ignore-matching-lines= --text --strip-trailing-cr --minimal --speed-large-files --color=? --no-dereference", check: stays},
	"which": {options: "a --all", files: -1},
	"seq":   {options: "f= s= w --format= --separator= --equal-width", files: -1},
	"sed":   {options: "n s E r --quiet --silent --regexp-extended --separate", files: 1, check: prints},
	"find":  {},
	"git":   {},
}

// readOnly says which files a command reads, and why it is not known to change
// nothing; empty: it is on the table with all it is given.
func readOnly(words []string, dir string) (reads []string, changes *Reason) {
	name := words[0]
	e, known := table[name]
	if !known {
		return nil, Because("not-read-only", "it is not on the read-only table: %s", printable(name))
	}
	var files []string
	switch name {
	case "find":
		files, changes = finds(words[1:])
	case "git":
		files, changes = looksAtHistory(words[1:])
	default:
		files, changes = e.take(words[1:])
		if name == "grep" && len(files) == 0 && changes == nil || name == "rg" && len(files) == 0 {
			files = []string{"."}
		}
	}
	if changes != nil {
		return nil, Because("of", "%s: %s", name, changes)
	}
	for _, f := range files {
		if f == "-" { // standard input, for all of them
			continue
		}
		reads = append(reads, under(dir, f))
	}
	return reads, nil
}

// take reads the arguments of a program and returns the files among them.
func (e entry) take(args []string) (files []string, changes *Reason) {
	if e.words {
		return nil, nil
	}
	given, operands, changes := options(e.options, args)
	if changes != nil {
		return nil, changes
	}
	if e.none && len(operands) > 0 {
		return nil, Because("is-given", "it is given %s", operands[0])
	}
	from := e.files
	if e.check != nil {
		changes = e.check(given, operands)
		if changes == allFiles {
			from, changes = 0, nil
		}
		if changes != nil {
			return nil, changes
		}
	}
	if from < 0 || from >= len(operands) {
		return nil, nil
	}
	return operands[from:], nil
}

// options tells options from operands, as GNU programs do: options may stand
// behind operands, and after -- there are none.
func options(spec string, args []string) (given map[string][]string, operands []string, changes *Reason) {
	kinds := map[string]string{} // "", "=" or "=?" by option
	for o := range strings.FieldsSeq(spec) {
		name, kind := o, ""
		if i := strings.IndexByte(o, '='); i >= 0 {
			name, kind = o[:i], o[i:]
		}
		kinds[name] = kind
	}
	given = map[string][]string{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return given, append(operands, args[i+1:]...), nil
		case len(a) < 2 || a[0] != '-':
			operands = append(operands, a)
			continue
		}
		if _, number := kinds["-#"]; number && strings.Trim(a[1:], "0123456789") == "" {
			continue
		}
		var used int
		used, changes = option(kinds, given, args[i:])
		if changes != nil {
			return nil, nil, changes
		}
		i += used - 1
	}
	return given, operands, nil
}

// option reads the option or the joined options at the start of args.
func option(kinds map[string]string, given map[string][]string, args []string) (used int, changes *Reason) {
	a := args[0]
	if strings.HasPrefix(a, "--") {
		name, value, has := strings.Cut(a, "=")
		kind, known := kinds[name]
		switch {
		case !known || has && kind == "":
			return 0, Because("option-not-read-only", "its option %s is not on the read-only table", name)
		case kind == "=" && !has:
			if len(args) < 2 {
				return 0, Because("option-without-value", "its option %s has no value", name)
			}
			given[name] = append(given[name], args[1])
			return 2, nil
		}
		given[name] = append(given[name], value)
		return 1, nil
	}
	for i := 1; i < len(a); i++ {
		letter := a[i : i+1]
		kind, known := kinds[letter]
		switch {
		case !known || letter == "-":
			return 0, Because("option-not-read-only", "its option %s is not on the read-only table", "-"+letter)
		case kind == "=?": // only joined to it
			given[letter] = append(given[letter], a[i+1:])
			return 1, nil
		case kind == "=" && i+1 < len(a):
			given[letter] = append(given[letter], a[i+1:])
			return 1, nil
		case kind == "=":
			if len(args) < 2 {
				return 0, Because("option-without-value", "its option %s has no value", "-"+letter)
			}
			given[letter] = append(given[letter], args[1])
			return 2, nil
		}
		given[letter] = append(given[letter], "")
	}
	return 1, nil
}

// allFiles is what a check returns when even the first operand is a file.
var allFiles = &Reason{}

// pattern is the check of programs whose first operand is a pattern, unless
// one of some options is given.
func pattern(instead ...string) func(map[string][]string, []string) *Reason {
	return func(given map[string][]string, _ []string) *Reason {
		for _, o := range instead {
			if _, is := given[o]; is {
				return allFiles
			}
		}
		return nil
	}
}

// stays is the check of diff, which follows links it finds on its way.
func stays(given map[string][]string, _ []string) *Reason {
	_, r := given["r"]
	_, recursive := given["--recursive"]
	if _, no := given["--no-dereference"]; (r || recursive) && !no {
		return Because("follows-links", "it follows links that lead anywhere; --no-dereference keeps it from that")
	}
	return nil
}

// printing are sed's scripts that only print lines by number.
var printing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(\d+|\$)(,(\d+|\$))?\s*p\s*(;\s*(\d+|\$)(,(\d+|\$))?\s*p\s*)*;?\s*$`)
})

// prints is the check of sed: its script may only print lines by number.
func prints(given map[string][]string, operands []string) *Reason {
	_, n := given["n"]
	_, quiet := given["--quiet"]
	_, silent := given["--silent"]
	if !n && !quiet && !silent {
		return Because("only-prints", "only -n with lines to print, such as '1,20p', is known to change nothing")
	}
	if len(operands) == 0 || !printing().MatchString(operands[0]) {
		return Because("script-does-more", "its script does more than print lines by number")
	}
	return nil
}

// findTests are the tests of find that only look; with =, they take a value.
const findTests = "name= iname= path= ipath= wholename= iwholename= regex= iregex= regextype= type= xtype= maxdepth= mindepth= size= " +
	"mtime= mmin= atime= amin= ctime= cmin= newer= anewer= cnewer= perm= user= group= uid= gid= links= inum= samefile= lname= ilname= used= " +
	"depth d empty readable writable executable nouser nogroup mount xdev noleaf daystart true false print print0 ls printf= prune quit " +
	"not o or a and warn nowarn ignore_readdir_race"

// finds reads the arguments of find.
func finds(args []string) (files []string, changes *Reason) {
	i := 0
	for i < len(args) && (args[i] == "-H" || args[i] == "-P") {
		i++
	}
	for ; i < len(args) && args[i] != "" && !strings.ContainsRune("-(!,)", rune(args[i][0])); i++ {
		files = append(files, args[i])
	}
	if len(files) == 0 {
		files = []string{"."}
	}
	tests := strings.Fields(findTests)
	for ; i < len(args); i++ {
		a := args[i]
		if a == "(" || a == ")" || a == "!" || a == "," {
			continue
		}
		test, is := strings.CutPrefix(a, "-")
		switch {
		case is && slices.Contains(tests, test):
		case is && slices.Contains(tests, test+"="):
			i++
			if i == len(args) {
				return nil, Because("without-value", "%s has no value", a)
			}
			if test == "newer" || test == "anewer" || test == "cnewer" || test == "samefile" {
				files = append(files, args[i])
			}
		default:
			return nil, Because("given-not-read-only", "%s is not on the read-only table", a)
		}
	}
	return files, nil
}
