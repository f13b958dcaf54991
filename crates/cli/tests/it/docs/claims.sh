# How each claim in words of the documentation is checked. `mod.rs` explains the convention.
#
# `#= PAGE` begins the checks of a page. Below `#? COMMENT` stand the commands that check a comment, right after its
# command; below `#" SENTENCE` those that check a sentence of the page, after its last command. Every command has to
# succeed. $out, $err and $code are what the command answered.

fail() {
    printf '%s\n' "$1"
    exit 1
}

# contains TEXT PART
contains() {
    case $1 in *"$2"*) ;; *) fail "no \`$2\` in: $1" ;; esac
}

# shows PART COMMAND...: the command succeeds and prints the part
shows() {
    part=$1
    shift
    answer=$("$@") || fail "failed: $*"
    contains "$answer" "$part"
}

# hides PART COMMAND...: the command does not print the part
hides() {
    part=$1
    shift
    answer=$("$@" 2>&1) || :
    case $answer in *"$part"*) fail "\`$part\` in: $answer" ;; *) ;; esac
}

# refuses COMMAND...: the command fails
refuses() {
    ! "$@" || fail "succeeded: $*"
}

# same TEXT TEXT
same() {
    [ "$1" = "$2" ] || fail "\`$1\` is not \`$2\`"
}

#= README.md
#? stores this repository's documents, asks about them, verifies the history
contains "$out" README.md
contains "$out" docs/versions.md
contains "$out" 'how is a record erased for good'
contains "$out" 'whole: '
#? runs the tests
contains "$out" crates/cli
#? creates .kapsa/workspace.kapsa, which git ignores
test -f .kapsa/workspace.kapsa
git init -q .
same "$(git status --porcelain .kapsa)" ''
rm -rf .git
#? stores documents, cut at headings
shows 'docs/versions.md' kapsa find 'What a branch sees' --source docs/versions.md
#? adds a second revision
same "$(kapsa history fact/staging-port --json | grep -o '"sequence"' | grep -c .)" 2
#? hides it, and the history keeps it
refuses kapsa get fact/staging-port
shows 'port 5433' kapsa history fact/staging-port
#? reports problems and how to fix them
contains "$out" ok
#? runs every verb without `kapsa` in front; reads scripts too
