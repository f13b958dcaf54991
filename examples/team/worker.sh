#!/bin/sh
# One worker: worker.sh TASK TASK_FILE LOGS, in a working tree of its own.
#
# Asks the run's memory what the siblings know, gives task and context to the agent, commits what the agent wrote, and
# records its answer. Expects KAPSA, TEAM_AGENT and TEAM_WAIT in the environment.
set -eu

task=$1
file=$2
logs=$3

say() {
    printf '  %s %s\n' "$task" "$1"
}

field() {
    sed -n "s/^$1: *//p" "$file"
}

# The siblings that the task needs and the context lacks.
missing() {
    for need in $(field Needs); do
        grep -q "^  \\[$need builder[],]" "$logs/$task.context" || printf ' %s' "$need"
    done
}

# All workers begin at once, so the context is asked for again until each needed sibling has decided, or time is up.
end=$(($(date +%s) + TEAM_WAIT))
waits=
while :; do
    "$KAPSA" run context --task "$task" --role builder >"$logs/$task.context"
    missing=$(missing)
    [ -n "$missing" ] && [ "$(date +%s)" -lt "$end" ] || break
    [ "$missing" = "$waits" ] || say "waits for$missing"
    waits=$missing
    sleep 0.2 2>/dev/null || sleep 1
done
confidence=0.9
if [ -n "$missing" ]; then
    say "begins without$missing: nothing came within $TEAM_WAIT s"
    confidence=0.3
elif [ -n "$(field Needs)" ]; then
    say "begins; it knows of $(field Needs)"
else
    say "begins"
fi

{
    printf 'You are one of four agents that work on this repository at the same time, each in its own working tree.\n\n'
    printf 'Your task: %s, %s\n\n' "$task" "$(field Title)"
    sed '1,/^$/d' "$file"
    printf '\n'
    cat "$logs/$task.context"
    printf '\nWork in the current folder, and touch only the files that the task names. End with a short answer in plain sentences:\n'
    printf 'what you decided and what you learned. The others will know nothing else of your work.\n'
} >"$logs/$task.prompt"

status=0
# exec replaces the shell, so that a signal reaches the agent itself.
sh -c "exec env $TEAM_AGENT" <"$logs/$task.prompt" >"$logs/$task.answer" 2>"$logs/$task.errors" &
agent=$!
trap 'kill "$agent" 2>/dev/null; exit 143' HUP INT TERM
wait "$agent" || status=$?
trap - HUP INT TERM

if [ "$status" -ne 0 ] || ! grep -q '[^[:space:]]' "$logs/$task.answer"; then
    say "failed: the agent ended with exit code $status"
    tail -n 5 "$logs/$task.errors" | sed "s/^/  $task | /"
    # Recorded, so that the siblings do not wait in vain.
    "$KAPSA" run record --task "$task" --role builder --confidence 0 --text "The agent failed. Nothing was decided." >/dev/null
    exit 1
fi

git add -A
git diff --cached --quiet || git commit -q -m "$(field Title)"
"$KAPSA" run record --task "$task" --role builder --confidence "$confidence" "$logs/$task.answer" >/dev/null
say "is done"
