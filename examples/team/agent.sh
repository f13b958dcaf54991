#!/bin/sh
# Stands in for a coding agent: reads a prompt on standard input, works in the current folder, and reports on standard
# output. It knows nothing but the prompt, and guesses whatever the prompt lacks.
set -eu

prompt=$(cat)

# known SIBLING PATTERN: the part in \(…\) of the sibling's first matching line in the prompt's context block.
known() {
    printf '%s\n' "$prompt" |
        sed -n "/^--- Sibling Task Context ---\$/,/^--- End Sibling Task Context ---\$/s/^  \\[$1 builder[],].*$2.*/\\1/p" | head -n 1
}

separator=$(known task-1 'the separator is `\([^`]*\)`')
code=$(known task-2 'ends with exit code \([0-9]*\)')
: "${separator:=|}" "${code:=1}"

random_number() {
    od -An -N2 -tu2 /dev/urandom | tr -d ' \n'
}

case $prompt in
    *'Your task: task-1'*)
        separator="~$(od -An -N3 -tx1 /dev/urandom | tr -d ' \n')~"
        cat >save.sh <<END
# Adds an entry to a ledger: save.sh FILE NAME TEXT
printf '%s$separator%s\n' "\$2" "\$3" >>"\$1"
END
        cat <<END
save.sh is written and adds one line for each entry.
Commas, bars, colons and tabs all turn up in real texts, so none of them can stand between the fields.
Decided: the separator is \`$separator\`, once in a line and without spaces around it.
Learned: printf keeps a text that begins with a dash, and echo does not.
Not done: a name that holds the separator itself is not refused.
END
        ;;
    *'Your task: task-2'*)
        code=$(($(random_number) % 80 + 20))
        cat >show.sh <<END
# Prints the entries of a ledger as NAME: TEXT: show.sh FILE
separator='$separator'
[ -s "\$1" ] || exit $code
while IFS= read -r entry; do
    printf '%s: %s\n' "\${entry%%"\$separator"*}" "\${entry#*"\$separator"}"
done <"\$1"
END
        cat <<END
show.sh is written and splits each line at the first \`$separator\`.
Decided: an empty ledger ends with exit code $code, so that callers can tell it from a failure of the shell.
Learned: without IFS= the shell cuts the spaces at the beginning of an entry.
END
        ;;
    *'Your task: task-3'*)
        mkdir -p docs
        cat >docs/format.md <<END
# How an entry is stored

One line for each entry: the name, the separator \`$separator\`, the text. For example:

    Ada${separator}2 apples, 1 pear
END
        printf 'docs/format.md is written, with an example that uses `%s`.\n' "$separator"
        ;;
    *'Your task: task-4'*)
        cat >tests.sh <<END
# Tests of the ledger; says what does not hold.
folder=\$(mktemp -d)
trap 'rm -rf "\$folder"' EXIT
sh save.sh "\$folder/ledger" Ada tea
stored=\$(cat "\$folder/ledger")
[ "\$stored" = 'Ada${separator}tea' ] || { echo "an entry is stored as \$stored"; exit 1; }
code=0
sh show.sh "\$folder/none" || code=\$?
[ "\$code" -eq $code ] || { echo "an empty ledger ends with exit code \$code"; exit 1; }
END
        printf 'tests.sh is written: it expects `%s` in the file, and exit code %s for an empty ledger.\n' "$separator" "$code"
        ;;
    *)
        echo 'agent.sh: the prompt names no task that this script can do' >&2
        exit 1
        ;;
esac
