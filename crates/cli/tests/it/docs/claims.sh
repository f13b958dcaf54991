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
contains "$out" 'intact: '
#? runs the tests
contains "$out" crates/cli
#? creates .kapsa/workspace.kapsa, which git ignores
test -f .kapsa/workspace.kapsa
git init -q .
same "$(git status --porcelain .kapsa)" ''
rm -rf .git
#? stores one file, of any kind and up to 4 GiB, under a URI
kapsa resolve-uri plan/readme | cmp - README.md
head -c 3000000 /dev/urandom >any.bin
kapsa put --uri file/any any.bin && kapsa resolve-uri file/any | cmp - any.bin
kapsa forget file/any && rm any.bin

#? stores documents, cut at headings
shows 'What a branch sees' kapsa find '"what a branch sees"' --source docs/versions.md
#? computes the vectors that a large put leaves out
hides vectors_missing kapsa doctor
#? the fact comes first
contains "$(printf '%s\n' "$out" | head -n 1)" fact/staging-port
#? adds a second revision
same "$(kapsa history fact/staging-port --json | grep -o '"sequence":' | grep -c .)" 2
#? hides it, and the history keeps it
refuses kapsa get fact/staging-port
shows 'port 5433' kapsa history fact/staging-port
#? reports problems and how to fix them
contains "$out" ok
cp .kapsa/workspace.kapsa broken.kapsa
printf x | dd of=broken.kapsa bs=1 seek=30 conv=notrunc 2>/dev/null
found=$(kapsa --capsule broken.kapsa doctor) || :
contains "$found" 'hint: '
rm -f broken.kapsa*
#? reads verbs, one per line, without `kapsa`
contains "$out" records
#" On a terminal, `kapsa shell` completes verbs, flags, branches and URIs with Tab.
shows kapsa kapsa shell --help
#? names this moment
shows v1 kapsa checkpoints
#? main does not see this revision
contains "$out" 'Port 5435'
hides 'Port 5435' kapsa find 'staging port'
#? writes nothing
contains "$out" fact/staging-port
hides 'Port 5435' kapsa get fact/staging-port
#? copies what the backup lacks
shows 'Port 5435' kapsa --capsule backup.kapsa get fact/staging-port
#? seals one run with a passphrase (age)
contains "$out" sealed
contains "$(head -c 21 .kapsa/exports/*.age)" age-encryption.org/v1
#" On another machine, `kapsa import FILE --mount-as run17` makes an export readable.
mkdir other
cp .kapsa/exports/*.age other/run17.age
cd other
kapsa init
KAPSA_PASSPHRASE=secret kapsa import run17.age --mount-as run17
shows 'Port 5435' kapsa find 5435 --mount run17
#? each hit says how it was found
contains "$out" meaning
#? computes the missing vectors
hides vectors_missing kapsa doctor
#? one hit per session
contains "$out" Lisbon
contains "$out" Rome
#? stored when the command returns
shows 'port 5433' kapsa find 'Decided: port 5433' --branch "run/$KAPSA_RUN/task-1"
#? main has the decision now
shows 'Decided: port 5433' kapsa find 'Decided: port 5433' --branch main
#" A failure of the memory never fails the run: these commands warn and exit with 0.
answer=$(KAPSA_CAPSULE=missing/x.kapsa KAPSA_RUN=none kapsa run finish --task none 2>&1)
contains "$answer" warning
#" Clients that keep one store per run and per task call `kapsa svc create|put|find|timeline|info`, or the same through
shows '"ok":true' kapsa svc create store.mv2
shows store.mv2 kapsa -m module info store.mv2
#" Exit code 0 means success, 1 an error you can fix, 2 a system or file error.
kapsa get --nonsense && fail 'no error' || same "$?" 1
head -c 13000 .kapsa/workspace.kapsa >cut.kapsa
kapsa --capsule cut.kapsa get x && fail 'no error' || same "$?" 2
#" Kapsa finds the capsule as git finds its repository: `--capsule PATH`, else `KAPSA_CAPSULE`, else `.kapsa/workspace.kapsa` in this folder or the nearest folder above.
mkdir -p deep/folder
cd deep/folder
shows fact/staging-port kapsa get fact/staging-port
#" Any text is a valid query (after `--`, if it begins with `-`).
kapsa find '+"((-: ) AND " kind:' >/dev/null

#= docs/access.md
#? the owner sees who was denied what
contains "$out" 'cro was denied: put'
refuses kapsa get fact/never --as cro
hides denied kapsa timeline --as cro
#" A clearance in one domain never helps in another.
kapsa put --domain ops --classification internal --text 'The pager is loud'
hides pager kapsa find pager --as cro
#" The answer is the same whether a record is hidden, forgotten or was never there.
kapsa put --uri note/hidden --domain ops --text 'hidden'
hidden=$(kapsa get note/hidden --as cro 2>&1 | sed s/hidden/X/g) || :
never=$(kapsa get note/never --as cro 2>&1 | sed s/never/X/g) || :
same "$hidden" "$never"
#" An empty principal name is refused, and never means the owner.
refuses kapsa find acme --as ''

#= docs/agents.md
#? without a clearance, an agent reads what is public
kapsa put --uri note/internal --text 'internal affairs'
kapsa put --uri note/public --classification public --text 'public affairs'
refuses kapsa get note/internal --as nobody
shows 'public affairs' kapsa get note/public --as nobody
kapsa forget note/internal
kapsa forget note/public
#? the intern sees the public fact and nothing else
same "$out" "## Context
- Acme has 200 employees"
#? one node, whose answer goes to the state
contains "$(cat state.json)" '"terms": "prepayment"'
#? all nodes of an operator
contains "$out" 'decide: prepayment'
contains "$out" 'check: no'
#" Every node and every answer is recorded as an episode, failed ones included.
before=$(kapsa episode list --agent cro --limit 100 | grep -c ep_)
refuses kapsa role reflect cro
refuses kapsa role respond cro 'no rule answers this'
same "$(kapsa episode list --agent cro --limit 100 | grep -c ep_)" $((before + 1))
#" Only `autonomous` exits with 0.
kapsa role can cro set_terms
refuses kapsa role can cro change_pricing
refuses kapsa role can cro anything_else
#" an empty context prints nothing.
same "$(kapsa context --tag none 2>/dev/null)" ''

#= docs/filesystem.md
#? or --agent cro on every call
unset KAPSA_AGENT
shows knowledge kapsa fs ls / --agent cro
#" Every other path is refused with `read_only`.
refuses kapsa fs write /references/revenue/x text
contains "$(kapsa fs write /goals/1.md text --json 2>&1)" read_only
#" The summary is cut to 200 characters; the outcome keeps the whole text, and `cat` shows it.
long=$(printf '%0300d' 7)
kapsa fs write /experience/long "$long"
shows "$long" kapsa fs cat /experience/long

#= docs/runs.md
#? merges finished tasks into the run, and the run into main
contains "$out" 'task-2'
shows 'port 5433' kapsa find 'service listens' --branch main
#" `start` prints the id of its run even then, so that later steps belong to it.
mkdir elsewhere
cd elsewhere
printf damaged >damaged.kapsa
id=$(KAPSA_RUN='' kapsa run start --run next --capsule damaged.kapsa 2>/dev/null)
same "$id" next
#" A leading `run/` or `run_` is dropped, so a run has one name everywhere.
same "$(KAPSA_RUN='' kapsa run start --run run/one)" one

#= docs/versions.md
#? only run/17 had changed it
contains "$out" 'merged 1 record'
shows 6000 kapsa get config/port
#? both had changed it: nothing is written
contains "$out" conflict
shows 6000 kapsa get config/port
#? review.json lists the conflict, undecided
contains "$(cat review.json)" '"decision": null'
contains "$(cat review.json)" 'the port is 7000'
#" What the parent adds later stays invisible.
kapsa put --uri note/later --text 'later than the branch'
refuses kapsa --branch run/17 get note/later
#" A checkpoint or sequence that the branch does not know is an error, never a guess.
refuses kapsa find port --as-of never
refuses kapsa find port --as-of 999
#" (`kapsa events --type x` lists the 19 types)
types=$(kapsa events --type x 2>&1) || :
same "$(printf '%s\n' "$types" | tr ',' '\n' | grep -c '[A-Z][a-z]')" 19
#" A second merge brings only what is new.
contains "$(kapsa merge run/17)" 'merged 0 records'
