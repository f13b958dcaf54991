#!/bin/sh
# Four agents work at once on one small repository; each needs what another decides. See README.md.
#
# KAPSA              the binary (default: kapsa)
# TEAM_AGENT         a coding agent: one command that reads a prompt on standard input (default: the script agent.sh)
# TEAM_WAIT          seconds that a task waits for what it needs (default: 60; with TEAM_AGENT 1800; without memory 1)
# KEEP=1             keeps the folder
# KAPSA_RUN_LAYOUT   branches or files
# KAPSA_RUN_ENABLED  false: no memory, so the team fails
set -eu

: "${KAPSA:=kapsa}"

stop() {
    printf 'run.sh: %s\n' "$1" >&2
    exit 2
}

command -v git >/dev/null || stop 'git is missing'
command -v "$KAPSA" >/dev/null || stop "$KAPSA is missing; set KAPSA to the binary"
case $KAPSA in
    /*) ;;
    */*) KAPSA=$PWD/$KAPSA ;;
esac
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

# The caller's memory and repository stay untouched.
unset KAPSA_CAPSULE KAPSA_BRANCH KAPSA_PASSPHRASE KAPSA_RUN KAPSA_TASK KAPSA_ROLE KAPSA_RUN_DIR KAPSA_RUN_REPO_ROOT_PATH
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_COMMON_DIR GIT_NAMESPACE GIT_PREFIX

work=$(mktemp -d)
workers=
clean() {
    trap '' HUP INT TERM
    # shellcheck disable=SC2086
    [ -z "$workers" ] || kill $workers 2>/dev/null || :
    [ -z "$workers" ] || wait
    if [ "${KEEP:-}" = 1 ]; then
        printf 'Kept: %s\n' "$work"
    else
        rm -rf "$work"
    fi
}
trap clean EXIT
trap 'exit 130' HUP INT TERM

repo=$work/repo
logs=$work/logs
tasks='task-1 task-2 task-3 task-4'

step() {
    printf '\n== %s\n' "$1"
}

indented() {
    sed 's/^/  /'
}

field() {
    sed -n "s/^$1: *//p" "$here/tasks/$2.md"
}

step 'Create a small repository and a run'
mkdir "$repo" "$logs" "$work/trees"
cp "$here"/project/* "$repo"
cd "$repo"
git -c init.defaultBranch=main init -q
# Holds for all working trees, and for agents that commit themselves.
git config user.name 'A team'
git config user.email 'team@localhost'
git config commit.gpgsign false
git config core.hooksPath /dev/null
git config gc.auto 0
git add -A
git commit -q -m 'An empty ledger'

KAPSA_RUN=$("$KAPSA" run start --title 'The ledger' --plan plan.md)
if [ -n "$KAPSA_RUN" ]; then
    has_memory=1
    export KAPSA_RUN
    printf '  run %s\n' "$KAPSA_RUN"
else
    # The team goes on without a memory: every further step of it does nothing.
    has_memory=
    unset KAPSA_RUN
    export KAPSA_RUN_ENABLED=false
    printf '  no run memory (it is off or failing): no agent will know what another one decided\n'
fi
for task in $tasks; do
    needs=$(field Needs "$task")
    "$KAPSA" run task start "$task" --title "$(field Title "$task")" --description "$(sed '1,/^$/d' "$here/tasks/$task.md")" >/dev/null
    printf '  %s  %s%s\n' "$task" "$(field Title "$task")" "${needs:+ (needs $needs)}"
    git worktree add -q -b "$task" "$work/trees/$task"
done

step 'Four agents at once, each in its own working tree'
if [ -z "${TEAM_WAIT:-}" ]; then
    TEAM_WAIT=60
    [ -z "${TEAM_AGENT:-}" ] || TEAM_WAIT=1800
    [ -n "$has_memory" ] || TEAM_WAIT=1
fi
quoted=$(printf '%s\n' "$here/agent.sh" | sed "s/'/'\\\\''/g")
: "${TEAM_AGENT:=sh '$quoted'}"
export KAPSA TEAM_AGENT TEAM_WAIT
for task in $tasks; do
    (cd "$work/trees/$task" && exec sh "$here/worker.sh" "$task" "$here/tasks/$task.md" "$logs") &
    workers="$workers $!"
done
for worker in $workers; do
    wait "$worker" || :
done
workers=

step 'What task-2 read before it began'
if [ -s "$logs/task-2.context" ]; then
    indented <"$logs/task-2.context"
else
    printf '  nothing\n'
fi

step 'Merge their work'
for task in $tasks; do
    files=$(git diff --name-only "HEAD...$task" | tr '\n' ' ')
    : "${files:=nothing}"
    if git merge -q --no-edit "$task" >"$logs/$task.merge" 2>&1; then
        printf '  merged %s: %s\n' "$task" "${files% }"
    else
        printf '  %s could not be merged:\n' "$task"
        indented <"$logs/$task.merge"
        git merge --abort || :
    fi
done

step 'Check whether the parts fit (sh check.sh)'
passed=1
sh check.sh >"$logs/check" 2>&1 || passed=
indented <"$logs/check"

step 'Record the verdicts and finish every task'
for task in $tasks; do
    verdict=$(grep -E "^(ok|FAIL) +$(field Part "$task") " "$logs/check" || echo 'FAIL  the check was interrupted')
    how=
    confidence=1
    case $verdict in
        FAIL*)
            how=--failed
            confidence=0.2
            ;;
    esac
    "$KAPSA" run record --task "$task" --role reviewer --confidence "$confidence" --text "Checked after the merge: $verdict" >/dev/null
    "$KAPSA" run finish --task "$task" ${how:+"$how"} >/dev/null
done
if [ -z "$has_memory" ]; then
    printf '  no run memory: nothing is recorded\n'
else
    "$KAPSA" run status | indented
    step 'Merge the results into the main memory, and ask it'
    how=
    [ -n "$passed" ] || how=--failed
    "$KAPSA" run finish --merge curated ${how:+"$how"} --by reviewer --note 'the check decides' | sed "s|$repo/||g" | indented
    question='which separator stands between name and text'
    printf '\n  $ kapsa find -k 1 "%s"\n' "$question"
    "$KAPSA" find -k 1 "$question" 2>&1 | indented
fi

if [ -n "$passed" ]; then
    step 'The check passed: the parts fit'
    exit 0
fi
step 'The check FAILED: the parts do not fit'
[ -n "$has_memory" ] || printf '  Without memory task-2 could not know what task-1 decided, and guessed.\n'
exit 1
