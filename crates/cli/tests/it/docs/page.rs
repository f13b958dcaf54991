//! Reads the Markdown of a page: its blocks, their commands, and what the comments claim.
//!
//! The only place that knows the convention, which `mod.rs` explains. It runs nothing.

/// A fenced block and what stands right before it.
#[derive(Debug)]
pub(crate) struct Block {
    /// The line of its opening fence, from 1.
    pub(crate) line: usize,
    /// The first word behind the fence.
    pub(crate) language: String,
    /// The second word behind the fence: the file that the block is the content of.
    pub(crate) file: Option<String>,
    /// The reason in `<!-- not typed: REASON -->` before the block.
    pub(crate) not_typed: Option<String>,
    /// Whether nothing but blank lines and a reason separates it from the block before it.
    pub(crate) follows: bool,
    pub(crate) text: String,
}

/// One command of a shell block.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) claims: Vec<Claim>,
}

/// What a trailing comment claims about its command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// `prints: TEXT`: standard output contains it.
    Prints(String),
    /// `prints nothing`.
    PrintsNothing,
    /// `warns: TEXT`: standard error contains it.
    Warns(String),
    /// `exit code N`.
    ExitCode(i32),
    /// Any other words: `claims.sh` says how they are checked.
    Words(String),
}

const NOT_TYPED: &str = "<!-- not typed: ";

/// The blocks of a page, in order.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut lines = page.lines().enumerate();
    let (mut reason, mut follows) = (None, false);
    while let Some((number, line)) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let mut words = info.split_whitespace().map(str::to_string);
            let language = words.next().unwrap_or_default();
            let file = words.next();
            let text = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
            let text = text.flat_map(|line| [line, "\n"]).collect();
            let not_typed = reason.take();
            blocks.push(Block { line: number + 1, language, file, not_typed, follows, text });
            follows = true;
        } else if let Some(rest) = line.strip_prefix(NOT_TYPED) {
            reason = Some(rest.trim_end_matches("-->").trim().to_string());
        } else if !line.trim().is_empty() {
            (reason, follows) = (None, false);
        }
    }
    blocks
}

/// The commands of a shell block. Comments on lines of their own explain and are passed over.
pub(crate) fn commands(block: &Block) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut lines = block.text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let mut text = line.to_string();
        while text.ends_with('\\') {
            text.push('\n');
            text.push_str(lines.next().map_or("", |(_, next)| next));
        }
        let (command, comment) = split_comment(&text);
        let claims = comment.map(claims).unwrap_or_default();
        commands.push(Command { line: block.line + 1 + number, text: command.to_string(), claims });
    }
    commands
}

/// How many comments on lines of their own a shell block has.
pub(crate) fn explanations(block: &Block) -> usize {
    block.text.lines().filter(|line| line.starts_with('#')).count()
}

/// A command and the words behind its ` # `, quotes and escapes respected.
fn split_comment(text: &str) -> (&str, Option<&str>) {
    let (mut quote, mut escaped, mut before) = (None, false, ' ');
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '#') if before.is_whitespace() => {
                return (text[..at].trim_end(), Some(text[at + 1..].trim()));
            }
            _ => {}
        }
        before = c;
    }
    (text.trim_end(), None)
}

fn claims(comment: &str) -> Vec<Claim> {
    comment.split("; ").map(claim).collect()
}

fn claim(words: &str) -> Claim {
    let exit_code = words.strip_prefix("exit code ").and_then(|code| code.parse().ok());
    if let Some(code) = exit_code {
        Claim::ExitCode(code)
    } else if let Some(text) = words.strip_prefix("prints: ") {
        Claim::Prints(text.to_string())
    } else if let Some(text) = words.strip_prefix("warns: ") {
        Claim::Warns(text.to_string())
    } else if words == "prints nothing" {
        Claim::PrintsNothing
    } else {
        Claim::Words(words.to_string())
    }
}

#[test]
fn a_page_is_read_block_by_block() {
    let page = "A\n\n```sh\n# why\nkapsa a \"# b\" # prints: x; exit code 1\n```\n\n```text\nx\n```\n\n\
                <!-- not typed: needs a network -->\n```sh\nkapsa c '#' \\\n  d   # it holds\n```\n\nB\n```toml kapsa.toml\n```\n";
    let blocks = blocks(page);
    let shape = |block: &Block| {
        (block.line, block.language.clone(), block.follows, block.not_typed.is_some())
    };
    let shapes: Vec<_> = blocks.iter().map(shape).collect();
    let sh = |line, follows, skipped| (line, "sh".to_string(), follows, skipped);
    assert_eq!(shapes[..2], [sh(3, false, false), (8, "text".to_string(), true, false)]);
    assert_eq!(shapes[2], sh(13, true, true));
    assert_eq!((blocks[3].file.as_deref(), blocks[3].follows), (Some("kapsa.toml"), false));
    let first = commands(&blocks[0]);
    assert_eq!((first[0].line, first[0].text.as_str()), (5, "kapsa a \"# b\""));
    assert_eq!(first[0].claims, [Claim::Prints("x".into()), Claim::ExitCode(1)]);
    assert_eq!(explanations(&blocks[0]), 1);
    let third = commands(&blocks[2]);
    assert_eq!((third.len(), third[0].text.as_str()), (1, "kapsa c '#' \\\n  d"));
    assert_eq!(third[0].claims, [Claim::Words("it holds".into())]);
}
