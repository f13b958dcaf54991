//! The examples below each verb's help. Text only.

pub(crate) const TOP: &str = "\
Examples:
  kapsa tour                            watch it work
  kapsa init                            create a capsule in this folder
  kapsa put --text \"the build needs cmake 3.28\" --kind fact
  kapsa put README.md docs/
  kapsa find \"what does the build need\"

Exit codes: 0 success, 1 an error you can fix, 2 a failure of the system or the file (`kapsa \
svc`: 2 a usage error, 1 any other failure). `kapsa help VERB` describes a verb.";

pub(crate) const INIT: &str = "\
Examples:
  kapsa init
  kapsa init --force         start over, keep the old one as workspace.kapsa.bak

The .kapsa folder gets a .gitignore, so that the capsule is not committed by accident.";

pub(crate) const CREATE: &str = "\
Examples:
  kapsa create team.kapsa
  kapsa --capsule team.kapsa put --text \"shared by the team\"

An existing capsule is left unchanged; any other file is refused and not touched. In a git \
working tree the lock file of the capsule is added to .git/info/exclude.";

pub(crate) const PUT: &str = "\
Examples:
  kapsa put --text \"locks are never stolen by pid\" --kind decision --tag area=locks
  kapsa put --uri note/locks --text \"a new revision of note/locks\"
  kapsa put README.md docs/
  echo '{\"text\":\"tests pass\",\"label\":\"builder\",\"tags\":{\"ci\":\"green\"}}' | kapsa put
  kapsa put --each - < records.jsonl
  kapsa put --json - --atomic --on-conflict newer < export.jsonl
  git log -1 --format=%B | kapsa put --plain --title \"last commit\"

JSON fields: text (required), title, kind, label, uri, tags (object, or array of \
\"name=value\"), metadata (object), entity, domain, agent, run, confidence, created_at (RFC \
3339, or a number of seconds, milliseconds or microseconds).

Bulk: one commit per batch, durable before the next batch is read. Lines that are not records \
are left out and named; the call then ends with exit code 1. A line that is an earlier revision \
of what is stored, as in an old export, is skipped with a warning; --on-conflict newer, skip or \
fail decides about every other text. With --atomic all lines are one commit, or none is stored.

What is there already, fields and all, is unchanged and not written again. The same text under \
another name is stored and said to be the same; --if-new stores no text, passage or file that \
any record holds.

Documents (Markdown and plain text) are split at headings and paragraphs. Storing one again \
adds only what changed and forgets passages it no longer contains. The vectors that search by \
meaning needs are made at once for small puts; see kapsa embed.";

pub(crate) const GET: &str = "\
Examples:
  kapsa get note/locks
  kapsa get note/locks --seq 12         an older revision
  kapsa get note/locks --raw > locks.txt";

pub(crate) const FIND: &str = "\
Examples:
  kapsa find \"how do writers lock the file\"
  kapsa find '\"torn tail\" +recovery -salvage' -k 3
  kapsa find deploy --kind decision --since 7d
  kapsa find label:builder cmake --tag ci=green --json
  kapsa find why do builds break --explain      show why each hit matched
  kapsa find \"what did we decide last week\"
  kapsa find trip plans --group session  the best hit of each conversation
  kapsa find port --as-of 120           as the capsule was at record #120
  kapsa find -- -stale lock             a query that begins with a dash

Any text is a question. `-word` excludes and `field:value` filters only where no record has that \
text; a query of which nothing is found is tried as plain text. Days are those of TZ, of `zone` \
and `week_starts` under [time] in kapsa.toml, or of the system. The number of a hit is how sure \
it is that it answers: comparable between answers, below 0.5 `weak`.";

pub(crate) const TIMELINE: &str = "\
Examples:
  kapsa timeline
  kapsa timeline --reverse --limit 5    the newest five, newest first
  kapsa timeline --oldest               the oldest fifty
  kapsa timeline --agent builder --since 2026-11-01 --until 2026-12-01";

pub(crate) const FORGET: &str = "\
Examples:
  kapsa forget note/locks

The history stays readable (kapsa history, kapsa get --seq). To erase a record for good: kapsa \
purge.";

pub(crate) const HISTORY: &str = "\
Examples:
  kapsa history note/locks
  kapsa get note/locks --seq 12";

pub(crate) const STATS: &str = "\
Examples:
  kapsa stats
  kapsa stats --count --json";

pub(crate) const VERIFY: &str = "\
Examples:
  kapsa verify
  kapsa --capsule copy.kapsa verify --json
  kapsa verify --trust $(kapsa key show)
  kapsa verify --trust team.keys --expect-chain @backup.kapsa

Exit code 2 when anything is damaged; each problem names its frame and byte offset.

--trust passes only if a trusted key signed the newest commit and every one since the first that \
such a key signed; that one vouches for all before it. A file of keys holds one on each line.

--expect-chain passes only if the history has the commit with this chain, which a file, a git \
note or another capsule kept: else it was rolled back, cut or rewritten. `kapsa stats` prints the \
newest chain.";

pub(crate) const KEY: &str = "\
Examples:
  kapsa key init
  kapsa key show
  kapsa verify --trust $(kapsa key show)
  KAPSA_SIGNING_KEY=/run/secrets/ci.key kapsa put --text \"signed by another key\"

The secret key is $XDG_CONFIG_HOME/kapsa/signing.key, or in .config below the home folder, \
readable by its owner only. KAPSA_SIGNING_KEY names another file; empty, it turns signing off. \
Every commit of any capsule is then signed. A key that cannot be used is an error: nothing is \
ever stored unsigned instead.";

pub(crate) const BACKEND: &str = "\
Examples:
  kapsa backend compare golden.jsonl --reference local-memory --candidate capsule

Each line of the file is {\"query\": \"which port?\", \"relevant\": [\"note/port\", \"5433\"]}: a hit is \
relevant by its id, or by a part of its text. The candidate must reach 0.95 of the reference's \
precision, recall and reciprocal rank, and answer 95 of 100 questions in under 250 ms. Which store \
serves put --text, find and get is memory_backend in kapsa.toml.";

pub(crate) const SYNC: &str = "\
Examples:
  kapsa sync ~/.claude/projects
  kapsa sync --window 7d --agent codex ~/.codex/sessions
  kapsa sync --dry-run session.jsonl
  kapsa sync --model \"command:claude -p\" --max-tokens 200000
  kapsa sync --watch --idle 2m

Files are read in any order, sessions gone through in the order of time. What is as it was when \
it was read last is skipped. Secrets are taken out before anything is stored. Each session is kept \
as well, bounded (kapsa trace show), and never found by searches.

A file that could not be read is tried three times, then only once it has changed, or with \
--force. --watch reads sessions as they are written, says each time in a line what came of it, and \
ends with SIGINT or SIGTERM. A capsule has one watch.

Exit codes: 1 failed, 2 a usage error, 3 some files could not be read, 4 another writer holds the \
capsule, or another watch reads for it.";

pub(crate) const TRACE: &str = "\
Examples:
  kapsa trace extract session.jsonl
  kapsa trace extract --trace-path session.jsonl --output extract.json
  kapsa trace summarise session.jsonl --memory-root memory
  kapsa trace show 0f2c

extract stores nothing, and neither it nor summarise needs a capsule. With --trace-path, --output,
--metadata-json or --metrics-json, extract answers with an array of candidates, as `kapsa -m \
acreta.memory.extract_pipeline` does, and summarise with {\"summary_path\":…}.";

pub(crate) const CONNECT: &str = "\
Examples:
  kapsa connect
  kapsa connect --dry-run
  kapsa connect ~/exports/chats.json --forget ~/.codex/sessions

Looks for the folders of Claude Code, Codex, Gemini CLI, OpenCode, Cursor, Copilot, pi, SpecStory \
and aider, unless a path is named. kapsa sync without a path reads what is connected.";

pub(crate) const MAINTAIN: &str = "\
Examples:
  kapsa maintain
  kapsa maintain --apply --repository acme/shop

Memories of traces that say the same become one, with the evidence of both; what one session alone \
brought with little confidence, or says too little, is archived: it holds no more, and stays in the \
history. Nothing is deleted.";

pub(crate) const STATUS: &str = "\
Examples:
  kapsa status
  kapsa status --json";

pub(crate) const REDACT: &str = "\
Examples:
  kapsa redact --check session.jsonl
  kapsa redact session.jsonl > shared.jsonl
  git log -p | kapsa redact -

Private keys, tokens known by their shape, passwords in URLs, values assigned to names such as \
API_KEY, and addresses of mail become [REDACTED:rule]. In JSON the strings are read as they are \
meant, those that hold JSON of their own too; everything else stays byte by byte. --check never \
prints what it found.";

pub(crate) const SETUP: &str = "\
Examples:
  kapsa setup --dry-run
  kapsa setup
  kapsa setup claude-code codex --project
  kapsa setup --check
  kapsa setup --undo
  kapsa setup --undo --all --dry-run

Writes the MCP server, hooks and a short passage for agents into the configuration of each program, \
shows every change, and keeps what a file was beside it. Comments, order and entries of others stay. \
The memory is .kapsa/workspace.kapsa in the home folder, with --project in the project. --undo brings \
each file back byte for byte, or takes out only its own lines where somebody changed it since. Exit \
code 1 if a program could not be set up, or with --check if something does not work.";

pub(crate) const DOCTOR: &str = "\
Examples:
  kapsa doctor
  kapsa --capsule old.kapsa doctor --json

Changes nothing. Exit code 2 when something does not work; each finding names the step that \
fixes it.";

pub(crate) const SALVAGE: &str = "\
Examples:
  kapsa salvage rescued.kapsa                          from the capsule of this folder
  kapsa --capsule broken.kapsa salvage rescued.kapsa --json

The damaged file is not touched. Every intact record keeps its sequence; an erased record \
takes the place of each lost one. Exit code 2 when anything was lost.";

pub(crate) const COMPACT: &str = "\
Examples:
  kapsa compact

Writes a new file beside the old one and renames it into place. Purged records are gone \
afterwards.";

pub(crate) const OPTIMIZE: &str = "\
Examples:
  kapsa optimize
  kapsa optimize --due                  only what puts would start in the background

Searches become a little faster; their results stay the same. The file may grow until the next
compact. Puts do this by themselves when it is due, unless KAPSA_UPKEEP=off.";

pub(crate) const PURGE: &str = "\
Examples:
  kapsa purge note/secret               asks first
  kapsa purge note/secret --yes && kapsa compact

The bytes leave the file at the next compaction. This cannot be undone.";

pub(crate) const TOUR: &str = "\
Examples:
  kapsa tour
  kapsa tour --json";

pub(crate) const MEMORY_TOOL: &str = "\
Examples:
  echo '{\"command\":\"view\",\"path\":\"/memories\"}' | kapsa memory-tool
  kapsa memory-tool --agent ann < commands.jsonl

Each JSON object on standard input is the input of one use of the tool: view, create, \
str_replace, insert, delete or rename. Each is answered by one line, {\"content\":…,\"is_error\":…}, \
before the next is read. Each file is a record, such as memories/ann/files/todo.md, with its \
history. docs/memory-tool.md says more.";

pub(crate) const HOOK: &str = "\
Examples:
  kapsa hook session-start < event.json
  kapsa hook UserPromptSubmit --client codex < event.json
  kapsa hook stop < event.json

An event of Claude Code or Codex comes on standard input, and the capsule is looked for from its \
cwd. Whatever fails, a hook ends with 0 and one line on standard error; only write-guard ends \
with 2. docs/hooks.md shows the settings of both programs.";

pub(crate) const HOOK_SESSION_START: &str = "\
Examples:
  kapsa hook session-start < event.json
  kapsa hook SessionStart --client codex --budget 1000 < event.json

Prints nothing if nothing is known.";

pub(crate) const HOOK_USER_PROMPT_SUBMIT: &str = "\
Examples:
  kapsa hook user-prompt-submit < event.json
  kapsa hook UserPromptSubmit --min-score 0.8 --budget 300 < event.json

Prints nothing if nothing surely answers.";

pub(crate) const HOOK_CAPTURE: &str = "\
Examples:
  kapsa hook stop < event.json
  kapsa hook SessionEnd --client codex < event.json

Queues transcript_path of the event, and agent_transcript_path, and returns. A process of its own \
reads them, as kapsa sync does, and ends when the queue is empty.";

pub(crate) const HOOK_PRE_TOOL_USE: &str = "\
Examples:
  kapsa hook pre-tool-use < event.json
  kapsa hook PreToolUse --client codex < event.json

A tool that would write into .kapsa/ or a *.kapsa file is answered with permissionDecision deny. \
For every other one, nothing is printed.";

pub(crate) const HOOK_WRITE_GUARD: &str = "\
Examples:
  kapsa hook write-guard --memory-root memory --run-folder workspace/sync-20261130-101500-1a2b3c

In the settings of Claude Code, as a hook of PreToolUse for all tools (matcher \"*\"). An event with \
tool_name, tool_input and cwd comes on standard input. A tool that may not be used is answered \
with permissionDecision deny and the reason; for one that may, nothing is printed. Exit code 2, \
which keeps the tool from being used as well, if the event cannot be read.

Notes may be written to decisions/ and learnings/ of the memory, with their keys, and files to \
the run's folder. Of the shell, only commands are allowed that are known to write nothing. \
docs/traces.md lists the reasons.";

pub(crate) const MCP: &str = "\
Examples:
  kapsa mcp                                    over standard input and output, for one client
  kapsa --as reviewer mcp                      as a principal, who sees and writes what it may
  kapsa mcp --http 127.0.0.1:8787              over HTTP, for whoever has the token
  claude mcp add kapsa -- kapsa mcp

Tools: memory_search, memory_read, memory_write, memory_forget, memory_context, memory_timeline, \
memory_branch, memory_propose. Records, files of agents and runs are resources (kapsa://…); recall, \
reflect and hand_over are prompts. What they write is trusted as what a model writes, unless \
--trust says otherwise.

Over pipes the capsule is that of the client's workspace, found as git finds a repository, unless \
--capsule or KAPSA_CAPSULE names one. Over HTTP it is that of the folder in which kapsa was \
started; the address is /mcp, and the token is in a file that only you can read.";

pub(crate) const SVC: &str = "\
Examples:
  kapsa svc create run/tasks/t1.mv2
  echo '{\"title\":\"T1\",\"label\":\"builder\",\"text\":\"done\"}' | kapsa svc put run/tasks/t1.mv2
  kapsa svc find 'run/tasks/*.mv2' --query \"what was built\" --k 3

Each answer is one JSON line. A failure prints {\"error\": message} to standard error and \
exits with 1; a usage error exits with 2, as the clients of this interface expect (other verbs \
exit with 1 on usage errors). `kapsa -m MODULE create …` is the same as `kapsa svc create \
…`.";

pub(crate) const SVC_CREATE: &str = "\
Examples:
  kapsa svc create run/tasks/t1.mv2     {\"ok\":true,\"path\":…,\"created\":…}";

pub(crate) const SVC_PUT: &str = "\
Examples:
  echo '{\"text\":\"done\",\"metadata\":{\"task_id\":\"t1\"}}' | kapsa svc put t1.mv2     {\"frame_id\":1}";

pub(crate) const SVC_FIND: &str = "\
Examples:
  kapsa svc find t1.mv2 --query lock
  kapsa svc find 'tasks/*.mv2' --query \"how was the lock built\" --k 3

When nothing matches, the newest entries are returned, each with \"fallback\":true.";

pub(crate) const SVC_TIMELINE: &str = "\
Examples:
  kapsa svc timeline t1.mv2 --limit 10";

pub(crate) const SVC_INFO: &str = "\
Examples:
  kapsa svc info t1.mv2                 {\"path\":…,\"frames\":3,\"size_bytes\":16384}";

pub(crate) const SHELL: &str = "\
Examples:
  kapsa shell                           on a terminal: Tab completes, Ctrl-D ends
  kapsa --capsule team.kapsa shell
  printf '%s\\n' 'put --text \"tests pass\"' /stats | kapsa shell
  kapsa shell --stop --json < script.txt

A line is a verb and its arguments, with or without a `/` before it, in words and quotes as in \
sh. The global options given to the shell apply to every line that does not set its own.

When standard input is not a terminal it is a script: empty lines and lines that begin with # \
are skipped, every line is run, and the exit code is that of the first line that failed.

The history of a terminal is stored in $XDG_STATE_HOME/kapsa/history, or in .local/state below \
the home folder, readable by its owner only; a line that begins with a space is not stored.";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  source <(kapsa completions bash)                in ~/.bashrc
  source <(kapsa completions zsh)                 in ~/.zshrc, after compinit
  kapsa completions fish | source                 in ~/.config/fish/config.fish

Tab then completes verbs, options and files, and branches, labels, runs and URIs of the \
capsule that the line names. Load the script when the shell starts, as above: it changes with \
the version of kapsa.";

pub(crate) const MAN: &str = "\
Examples:
  kapsa man | man -l -
  kapsa man --out ~/.local/share/man/man1";

pub(crate) const BRANCH: &str = "\
Examples:
  kapsa branch                          list; * marks the current one
  kapsa branch create run/17 --switch   create it and switch to it
  kapsa branch create try --as-of v1    fork from a checkpoint
  kapsa --branch run/17 put --text \"only this run knows\"
  kapsa branch switch main
  kapsa branch archive run/17

The branch is --branch, else KAPSA_BRANCH, else the one switched to, else main. A branch sees \
what its parent had at the fork point. Creating one costs as much as a put.";

pub(crate) const CHECKPOINT: &str = "\
Examples:
  kapsa checkpoint --label v1
  kapsa find \"which port\" --as-of v1
  kapsa checkpoint --stage implement --spec S-12 --run 17 --git-commit $(git rev-parse HEAD)

Every put is committed by itself; a checkpoint gives the current state a name that --as-of, \
diff and branch take. kapsa checkpoints lists them.";

pub(crate) const CHECKPOINTS: &str = "\
Examples:
  kapsa checkpoints
  kapsa checkpoints --branch run/17 --json
  kapsa checkpoints --all";

pub(crate) const EVENTS: &str = "\
Examples:
  kapsa events --limit 20
  kapsa events --type GateDecision --type ErrorEvent --stage implement
  kapsa events --since-checkpoint v1 --audit-only --json
  kapsa events --branch run/17";

pub(crate) const EVENT: &str = "\
Examples:
  kapsa event emit GateDecision --stage review \\
      --payload '{\"gate_name\":\"tests\",\"outcome\":\"Pass\",\"stage\":\"review\",\"blocking\":true}'
  kapsa event emit DebugTrace --payload '{\"note\":\"x\"}' --best-effort

The payload is checked against the type; an error names the field.";

pub(crate) const MERGE: &str = "\
Examples:
  kapsa merge run/17 --dry-run
  kapsa merge run/17                      asks about conflicts on a terminal, else exits with 1
  kapsa merge run/17 --theirs --note \"newer\" --by ana
  kapsa merge run/17 --include 'decision/*' --exclude kind:note
  kapsa merge run/17 --plan review.json   decide in the file, then
  kapsa merge --apply review.json

A record changed on one side is taken; one changed on both is a conflict. Nothing is written \
until every conflict is resolved. `edit` opens both texts in $VISUAL or $EDITOR.";

pub(crate) const DIFF: &str = "\
Examples:
  kapsa diff main run/17
  kapsa diff v1                    what changed since the checkpoint v1
  kapsa diff main@2026-11-01 main --names
  kapsa diff 120 --json            what changed since #120

A sequence is a plain number, or '#120' in quotes: in a shell a bare # starts a comment.";

pub(crate) const LOG: &str = "\
Examples:
  kapsa log
  kapsa log --graph --all
  kapsa log --as-of v1 --limit 10";

pub(crate) const BLAME: &str = "\
Examples:
  kapsa blame config/port
  kapsa blame config/port --json";

pub(crate) const REVERT: &str = "\
Examples:
  kapsa revert --run 17 --note \"it measured the wrong host\"
  kapsa revert --source session-4.jsonl
  kapsa revert 120                 everything committed together with #120

History keeps everything; records changed since stay as they are and are listed.";

pub(crate) const CHERRY_PICK: &str = "\
Examples:
  kapsa cherry-pick decision/locks --from run/17
  kapsa --branch run/18 cherry-pick decision/locks --from run/17 --note \"needed here too\"";

pub(crate) const ALIAS: &str = "\
Examples:
  kapsa alias note/old-name note/new-name
  kapsa get note/old-name          shows note/new-name";

pub(crate) const RESOLVE_URI: &str = "\
Examples:
  kapsa resolve-uri mv2://default/S-12/17/artifact/plan.md
  kapsa resolve-uri checkpoint/3k2m9x0q1w4t7 --json
  kapsa resolve-uri note/x --as-of v1 --out x.md";

pub(crate) const CLONE: &str = "\
Examples:
  kapsa clone backup.kapsa
  kapsa clone ../other-machine/.kapsa/workspace.kapsa

The copy is verified byte for byte before it gets its name.";

pub(crate) const REMOTE: &str = "\
Examples:
  kapsa remote add laptop /mnt/laptop/project
  kapsa remote add server ssh://ana@example.org/srv/project
  kapsa remote
  kapsa remote rename laptop notebook
  kapsa remote remove notebook

A remote is known to this capsule only. ssh runs as you set it up; kapsa must be installed there.";

pub(crate) const FETCH: &str = "\
Examples:
  kapsa fetch laptop
  kapsa diff main laptop/main
  kapsa merge laptop/main

What is here already is known by its identity and never copied again. An interrupted fetch goes on \
where it was.";

pub(crate) const PULL: &str = "\
Examples:
  kapsa pull laptop
  kapsa pull ../other/.kapsa/workspace.kapsa
  kapsa merge laptop/main --contested       where both sides changed the same

A pull fetches and merges. With conflicts nothing is merged: what was fetched waits on NAME/main.";

pub(crate) const PUSH: &str = "\
Examples:
  kapsa push laptop
  kapsa push backup.kapsa

The other capsule must have nothing that is missing here: fetch and merge first. A copy that is \
merely behind gets the same commits, signatures included.";

pub(crate) const EXPORT: &str = "\
Examples:
  kapsa export                               everything, to exports/capsule.kapsa
  kapsa export --spec S-12 --run 17          one run, encrypted with a passphrase
  kapsa export --run 17 --no-encrypt --out run17.kapsa
  kapsa export --format jsonl --out all.jsonl && kapsa put - < all.jsonl
  kapsa export --format markdown --as-of v1 --out notes
  kapsa export --format server-memory --out memory.jsonl
  kapsa export --format mv2 --out memory.mv2   for Memvid; needs the program kapsa-memvid

The same content makes the same bytes. Whole model calls, debug traces and the folders of \
sources are left out unless --unsafe is given. A capsule holds every revision, the other \
formats the current ones. In files for people, characters that act on a terminal or are drawn \
as nothing are written as visible escapes. The folder of --out must exist. A run is exported whole, including what is only on its branch. The \
passphrase comes from KAPSA_PASSPHRASE or the terminal.";

pub(crate) const IMPORT: &str = "\
Examples:
  kapsa import run17.kapsa.age
  kapsa import ../other/exports/capsule.kapsa --mount-as other
  kapsa find \"what was decided\" --mount other
  kapsa import mem0 ~/.mem0/history.db --dry-run
  kapsa import server-memory memory.jsonl
  kapsa import memory.mv2 --dry-run
  kapsa import local-memory --status           how much of it is here; needs its daemon
  kapsa import local-memory --all && kapsa import local-memory --verify
  kapsa import claude-code ~/.claude/projects/my-project/memory --on-conflict skip

Products: basic-memory, beads, chatgpt, claude, claude-code, codex, graphiti, letta, \
local-memory, mem0, memvid, obsidian, server-memory. Their ids name the records, so importing again adds nothing; what was \
changed or forgotten here stays unless the source has it newer. What cannot be used is counted \
and named, and the exit code is 1.

Every byte of a capsule is verified before the copy gets its name in mounts/ beside the capsule; a file \
that fails leaves nothing behind, and the exit code is 2. Importing the same file again \
changes nothing. Mounts are read-only; get and resolve-uri look into them for URIs that the \
capsule itself never had.";

pub(crate) const MOUNTS: &str = "\
Examples:
  kapsa mounts
  kapsa get note/locks --mount other";

pub(crate) const GC: &str = "\
Examples:
  kapsa gc --dry-run
  kapsa gc --retention-days 7
  touch .kapsa/exports/capsule.kapsa.pin     keeps that export

Deletes only exports in exports/ beside the capsule, and what interrupted exports, imports and \
compactions left. Symbolic links are never followed.";

pub(crate) const POLICY: &str = "\
Examples:
  kapsa policy validate policy.json
  kapsa policy capture policy.json          stores it and records an event, if it changed
  kapsa policy list
  kapsa policy show current
  kapsa policy diff 0s61gvp80f1fw current

A policy is a JSON object with source_files, model_config, weights, prompts, governance. The \
checkpoint of a stage names the policy in effect.";

pub(crate) const GRAPH: &str = "\
Examples:
  kapsa graph add-card --type component --title Parser --fact owner=ana --fact lines=1200:number
  kapsa graph add-edge --type depends_on --from component/parser --to component/lexer --weight 0.8
  kapsa graph query --uri component/parser --direction out --depth 2
  kapsa graph query --type component

A second fact with the same key is kept beside the first; none is overwritten.";

pub(crate) const REPLAY: &str = "\
Examples:
  kapsa replay run --run 17
  kapsa replay run --run 17 --type GateDecision --json
  kapsa replay verify --run 17";

pub(crate) const EMBED: &str = "\
Examples:
  kapsa embed                            every record without vectors, with the capsule's model
  kapsa embed --limit 1000               about a thousand records; run it again to continue

Search by meaning finds records that have vectors. Small puts make them at once; this makes \
those that a large put, a pull or an older program left out. Each step is stored: stop it at \
any time and run it again.";

pub(crate) const REEMBED: &str = "\
Examples:
  kapsa reembed --model local:all-MiniLM-L6-v2
  kapsa reembed --model ollama:nomic-embed-text      a service at KAPSA_EMBED_URL
  kapsa reembed --model bundled                      back to the model that comes with kapsa

The key of a service is KAPSA_EMBED_KEY; OPENAI_API_KEY is sent only to OpenAI itself.

Searches use the old model until every record has vectors of the new one; then the old vectors \
are dropped. Stop it at any time and run it again to continue.";

pub(crate) const MODEL: &str = "\
Examples:
  kapsa model list
  kapsa model add ./all-MiniLM-L6-v2     a folder with config.json, vocab.txt and model.safetensors
  kapsa model add ./e5-small-v2 --query-prefix 'query: ' --passage-prefix 'passage: ' --cosine-floor 70
  kapsa model add reranker.kmodel        a re-ranker for find --rerank; see docs/search.md
  kapsa model info                       the model of this capsule
  kapsa model remove all-MiniLM-L6-v2";

pub(crate) const CLEARANCE: &str = "\
Examples:
  kapsa clearance set cro revenue=confidential hr=internal
  kapsa clearance set ana =restricted         records without a domain
  kapsa put --domain revenue --classification confidential --text \"Acme pays late\"
  kapsa find acme --as cro                    or KAPSA_PRINCIPAL=cro for every call
  kapsa clearance list

Deny by default: a principal without clearance can read only public records. Restricted \
records need the level and the name (--named). Whoever can read the file itself can read \
everything in it: clearance binds agents that use kapsa.";

pub(crate) const REVIEW: &str = "\
Examples:
  kapsa review                                what waits, and why
  kapsa review show 17
  kapsa review accept 17 18 --by ana
  kapsa review edit 19 --text \"Acme pays late\"
  kapsa review reject 20
  kapsa review rule review --of-trust tool    what tools bring always waits
  kapsa review rule direct --of-principal cro --domain revenue

What is written by a principal, a model or a tool waits when its text reads like an instruction, \
holds a secret or hidden characters, or floods the memory. Until it is accepted, no search, list \
or context shows it. Rules change what waits; the rule with most conditions decides. What the owner \
writes never waits.";

pub(crate) const FACT: &str = "\
Examples:
  kapsa fact add \"Acme pays within 30 days\" --entity acme --attribute payment
  kapsa fact add \"Acme pays within 60 days\" --entity acme --attribute payment --source erp
  kapsa fact list --contested                   sources disagree, and no rule decides
  kapsa fact resolve f_1f0c6b3a --json          this one is right
  kapsa fact list --pending                     facts that wait for a decision
  kapsa fact resolve f_9a3e51c2 --accept        do what was proposed; --coexist, --same, --reject
  kapsa fact attribute language --many          an entity can have many of them
  kapsa fact supersede f_1f0c6b3a \"Acme pays at once\" --valid-from 2027-01-01
  kapsa fact query pays --entity acme --valid-at 2026-06-15 --as-of 2026-11-23

A new fact is compared with the known ones of the same entity, domain and level: by what both \
state (numbers with units, dates, names, words such as \"now\", \"no longer\", \"correction\"), by \
their attribute (given, or recognised), and by source and time. The answer shows the verdict \
and why:

  new         nothing is known about it
  same        known: text, source and tags are kept as evidence
  supersedes  another value; the old one is hidden (corrects, refines, retracts: likewise)
  coexists    a further value of an attribute that can have many
  contests    another source disagrees; both are marked
  pending     the words do not decide; both are marked until fact resolve

\"From 1 June ...\" holds from then on, \"today ...\" until tonight; afterwards the earlier value \
holds again.

--id revises an existing fact; omitted fields keep their values. `-` reads standard input. \
Facts are records (`fact/ID`): find, get, history, forget, branches and merges work on them. \
--valid-at asks what was valid then, --as-of what was known.";

pub(crate) const ENTITY: &str = "\
Examples:
  kapsa entity alias IBM \"International Business Machines\" \"Big Blue\"
  kapsa entity show \"big blue\"
  kapsa entity list
  kapsa entity unalias IBM \"Big Blue\"

Facts and --entity find an entity by each of its names. Case, punctuation, accents, legal forms \
(Inc., GmbH) and usual short forms (db, prod) make no difference and need no alias. A short name \
that may stand for a longer one is not taken for it: a fact about it is pending.";

pub(crate) const EPISODE: &str = "\
Examples:
  kapsa episode add \"score 85, warm\" --agent cro --action qualify_lead --entity acme
  kapsa episode add \"lost\" --agent cro --action close --outcome '{\"reason\":\"price\"}'
  kapsa episode list --agent cro --since 7d
  KAPSA_AGENT=cro kapsa episode list --entity acme --json

An episode belongs to one agent. A principal (--as) records only its own.";

pub(crate) const INSIGHT: &str = "\
Examples:
  kapsa insight add \"A VP as sponsor predicts a deal\" --agent cro --confidence 0.6
  kapsa insight list sponsor --agent cro
  kapsa insight confirm ins_1f0c6b3a --agent cro         seen again: confidence + 0.1
  kapsa insight retire ins_1f0c6b3a --agent cro          hidden from recall; its history stays
  kapsa insight reflect --agent cro                      learn from repeated results
  kapsa insight publish --agent cro --min-confidence 0.7

A published insight is a fact (`pub_ID`), classified at least as high as what it was learned \
from.";

pub(crate) const CONTEXT: &str = "\
Examples:
  kapsa context --agent cro --entity acme --query \"does acme pay in time\"
  kapsa context --domain revenue --budget 500 --uris
  kapsa context --as cro --tag lead --json

Prints up to 5 insights, 10 facts and 3 episodes in whole lines, the most valuable first. \
Superseded, retired and no longer valid entries are left out; contested ones are marked. \
Reading takes no lock. An agent gets the facts that its clearance allows (`kapsa clearance`; \
the clearance of a role in kapsa.toml narrows it, and applies where nothing else is set).";

pub(crate) const ROLE: &str = "\
Examples:
  kapsa role run cro qualify --state state.json --out state.json
  kapsa role respond cro \"what do we know of acme?\" --model ollama:llama3.1
  kapsa role reflect cro                         without a model: from repeated results
  kapsa role publish cro --min-confidence 0.7
  kapsa role schedule                            do what is due; --watch goes on
  kapsa role can cro send_offer --json

In kapsa.toml:
  [role.cro]
  soul = \"You are the CRO. Data-driven.\"
  goals = [\"Grow revenue without losses\"]
  model = \"anthropic:claude-sonnet-4-5\"
  clearance = { revenue = \"confidential\" }
  authority = { autonomous = [\"qualify_lead\"], forbidden = [\"sign_contract\"] }
  [[role.cro.operators]]
  id = \"revenue_ops\"
  [[role.cro.operators.nodes]]
  name = \"qualify\"
  prompt = \"Score {lead}.\"
  output = \"score\"
  scope = { entity = \"{lead}\", domain = \"revenue\" }

Keys come only from the environment: KAPSA_LLM_KEY, else ANTHROPIC_API_KEY or OPENAI_API_KEY, \
which go only to their own provider. KAPSA_LLM_URL sets another address, KAPSA_LLM the model of \
roles that declare none. A node with tools (memory_search, memory_read, memory_write) uses the \
memory of the role by itself.";

pub(crate) const FS: &str = "\
Examples:
  kapsa fs ls --agent cro                                list the top folders
  kapsa fs tree /knowledge --agent cro --depth 2
  kapsa fs cat /knowledge/revenue/vp-sponsor --agent cro
  kapsa fs search vp sponsor --in /knowledge --agent cro --trace
  kapsa fs write /knowledge/revenue/leads/vp-sponsor \"A VP as sponsor predicts a deal\" --agent cro
  git log -1 --format=%B | kapsa fs write /experience/last-commit - --agent cro

/knowledge/DOMAIN/ID are insights, /experience/DAY/ID episodes, /references/DOMAIN/ID facts of \
the team that the agent's clearance allows. `_` stands for no domain; .directory in each \
folder lists its content. Folders between the domain and the id of a written insight become \
its tags. Everything but insights and today's episodes is read-only.";

pub(crate) const RUN: &str = "\
Examples:
  export KAPSA_RUN=$(kapsa run start --title \"The service\" --plan plan.md)
  kapsa run task start task-1 --title \"Choose the port\"
  kapsa run record --task task-1 --role builder --text \"Decided: port 5433.\"
  kapsa run context --task task-2 --role builder        what task 2 should know before it begins
  kapsa run finish --merge curated                      merge the results into main

A failing memory never fails a run: it warns and exits with 0, unless --strict is given. Runs \
are stored in one of two layouts: branches of the workspace's capsule, or a folder of capsules \
per run. Settings: [run] in kapsa.toml, see `kapsa run config`.";

pub(crate) const RUN_START: &str = "\
Examples:
  kapsa run start --title \"The service\"                prints a new id
  kapsa run start --run 17 --plan plan.md               this id; the plan from a file
  cat plan.md | kapsa run start --run 17 --plan -       continue an existing run";

pub(crate) const RUN_TASK: &str = "\
Examples:
  kapsa run task start task-1 --title \"Choose the port\"
  kapsa run task start task-2 --title \"Write the client\" --description \"in src/client.rs\"";

pub(crate) const RUN_RECORD: &str = "\
Examples:
  kapsa run record --task task-1 --role builder --confidence 0.9 --text \"Decided: port 5433.\"
  some-agent | kapsa run record --task task-1 --role reviewer
  kapsa run record --role planner plan.md               a plan of the run

A run or a task that was not started is started, so that nothing is lost.";

pub(crate) const RUN_CONTEXT: &str = "\
Examples:
  kapsa run context --task task-2 --role builder
  kapsa run context --task task-2 --role reviewer --format markdown --budget 500
  kapsa run context --task task-2 --role builder --format prompt --layer project-rules=AGENTS.md
  kapsa run context --task plan-2 --role planner --past-runs --query \"what went wrong\" --json

Prints the plan (except for reviewers and planners) and what other tasks recorded, one line \
each with its origin; the task's own records are left out. Prints nothing when there is \
nothing to show.";

pub(crate) const RUN_STATUS: &str = "\
Examples:
  kapsa run status
  kapsa run status --run 17 --json";

pub(crate) const RUN_FINISH: &str = "\
Examples:
  kapsa run finish --task task-1
  kapsa run finish --task task-2 --failed --summary \"the tests need a network\"
  kapsa run finish --task task-1 --merge curated        merge the task's records into its run
  kapsa run finish --merge curated --by ana             finished tasks, then the run into main
  kapsa run finish --merge curated --lessons            with why the failed ones failed
  kapsa run finish --stage build                        leaves a checkpoint of the stage

What is left out is named, with how to bring it. Where both sides changed the same record, nothing is merged and the exit code is 1; resolve it \
with kapsa merge.";

pub(crate) const RUN_LIST: &str = "\
Examples:
  kapsa run list
  kapsa run list --limit 5
  kapsa run list --layout files --dir .swarm/memory --json";

pub(crate) const RUN_ARCHIVE: &str = "\
Examples:
  kapsa run archive --run 17";

pub(crate) const RUN_CONFIG: &str = "\
Examples:
  kapsa run config
  KAPSA_RUN_ENABLED=false kapsa run config --json

Keys of [run] in kapsa.toml, also KAPSA_RUN_<KEY> in the environment: enabled, layout \
(branches, files), dir, repo_root_path, timeout_seconds, sibling_max_chunks, search_mode \
(auto, lex, sem), context_tokens, python_path, svc_dir. The last two are for clients of `kapsa \
svc` and are only passed on.";
