#!/bin/sh
# Checks that the parts of the ledger fit: prints one line per part, and exits with 1 if one does not fit.
# It knows none of the decisions; it sees them in how the parts behave.
set -eu

cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

ok() {
    printf 'ok    %-5s  %s\n' "$1" "$2"
}

fail() {
    printf 'FAIL  %-5s  %s\n' "$1" "$2"
    failed=1
}

# A text may contain whatever people use as a separator.
text='2 apples, 1 pear | paid: yes; see ~/notes'

separator=
sh save.sh "$scratch/probe" A B && sh save.sh "$scratch/ledger" Ada "$text" || :
if [ ! -s "$scratch/ledger" ]; then
    fail save 'save.sh stores nothing'
else
    separator=$(cat "$scratch/probe")
    separator=${separator#A}
    separator=${separator%B}
    case $text in
        *"$separator"*)
            fail save "save.sh puts \`$separator\` between name and text, which a text may contain"
            separator=
            ;;
        *) ok save "save.sh puts \`$separator\` between name and text" ;;
    esac
fi

code=0
if [ -n "$separator" ]; then
    shown=$(sh show.sh "$scratch/ledger") || :
    sh show.sh "$scratch/none" || code=$?
    if [ "$shown" != "Ada: $text" ]; then
        fail show "show.sh does not split an entry at \`$separator\`: it prints \`$shown\`"
    elif [ "$code" -lt 20 ] || [ "$code" -gt 99 ]; then
        fail show "show.sh ends with exit code $code when the ledger is empty"
    else
        ok show "show.sh splits it there, and ends with exit code $code when the ledger is empty"
    fi

    if grep -qF -e "$separator" docs/format.md; then
        ok docs "docs/format.md names the separator \`$separator\`"
    else
        fail docs "docs/format.md does not name the separator \`$separator\`"
    fi

    # Tests that always pass prove nothing: they have to fail if another choice was made.
    mkdir "$scratch/save" "$scratch/show"
    cp ./*.sh "$scratch/save"
    cp ./*.sh "$scratch/show"
    echo 'printf "%s=%s\n" "$2" "$3" >>"$1"' >"$scratch/save/save.sh"
    echo "exit $((code + 1))" >"$scratch/show/show.sh"
    if ! said=$(sh tests.sh 2>&1); then
        fail tests "tests.sh fails: $(printf '%s\n' "$said" | tail -n 1)"
    elif (cd "$scratch/save" && sh tests.sh) >/dev/null 2>&1; then
        fail tests 'tests.sh passes with another separator too'
    elif (cd "$scratch/show" && sh tests.sh) >/dev/null 2>&1; then
        fail tests 'tests.sh passes with another exit code too'
    else
        ok tests "tests.sh passes, and would not with another separator or exit code"
    fi
else
    for part in show docs tests; do
        fail "$part" 'cannot be checked without save.sh'
    done
fi

exit "$failed"
