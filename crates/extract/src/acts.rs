//! Speech acts: whether a sentence of a person states what holds beyond its moment, or asks for
//! something to be done now.
//!
//! A sentence is weighed by the cues in it. What is stated (an obligation, a ban, a choice, a
//! contrast, a correction) speaks for keeping it; a question, the order of a single piece of work,
//! small talk and a report of what was done speak against it. Knows nothing of sessions.

use std::sync::LazyLock;

use regex_automata::meta::Regex;

use crate::types::MemoryType;

/// From this weight on a sentence is kept.
pub(crate) const WEIGHT_MIN: f64 = 2.0;

/// What a sentence does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    /// Says what must be, or must not.
    Obliges,
    /// Says how something is wanted.
    Wants,
    /// Bans something.
    Bans,
    /// Chooses between what could be done.
    Chooses,
    /// Says how to work, with which tool.
    Instructs,
    /// Says what is right where something else was done or said.
    Corrects,
    /// One thing and not another.
    Contrasts,
    /// Holds for all cases.
    Generalises,
    /// Gives a reason.
    Reasons,
    /// Says what is so.
    States,
    /// Asks that something be remembered.
    Remembers,
    /// Asks that something be left out of the memory.
    Withholds,
    /// Asks something.
    Asks,
    /// Orders a single piece of work.
    Orders,
    /// Says what was done, or how it went.
    Reports,
    /// Speaks of the conversation itself.
    Chats,
    /// Takes back what was said before.
    Withdraws,
}

struct Cue {
    act: Act,
    weight: f64,
    pattern: &'static str,
}

const fn cue(act: Act, weight: f64, pattern: &'static str) -> Cue {
    Cue { act, weight, pattern }
}

/// Sentences are folded: lower case, straight quotes, one space between words.
const CUES: &[Cue] = &[
    // What must be.
    cue(Act::Obliges, 2.0, r"\b(must|shall|has to|have to|required to|ought to|mandatory)\b"),
    cue(Act::Obliges, 2.0, r"\b(needs? to|supposed to) \w|\bshould (not|never|always|only)\b"),
    cue(Act::Wants, 2.0, r"\bshould \w"),
    cue(
        Act::Wants,
        1.5,
        r"\bi(?:'d| would| do)?(?: also| really)* (?:want|wish|expect|need|like|love|prefer)\b",
    ),
    cue(
        Act::Orders,
        -2.0,
        r"\bi(?:'d| would)?(?: also| really)* (?:want|like|need) (?:you )?to (?:make|create|build|write|add|do|get|know|understand|see if|try|start|test|check|fix|implement|release|rename|change|update)\b",
    ),
    // Bans.
    cue(
        Act::Bans,
        2.5,
        r"\b(do not|don't|dont|must not|mustn't|should not|shouldn't|shouldnt|not allowed|no longer)\b",
    ),
    cue(
        Act::Bans,
        1.5,
        r"\b(avoid|stop|refrain from|get rid of|no need (to|for)|(do not|don't|dont) need)\b",
    ),
    cue(Act::Bans, 1.5, r"^(no|not|not as|not in) (a |the |any )?\w"),
    cue(Act::Bans, 2.0, r"^(and |so |please |but |also )*never\b|\b(should|must|will|can) never\b"),
    cue(Act::Bans, 3.0, r"\bi(?: \w+)? (don't|do not|dont) (want|like|need)\b"),
    cue(Act::Chats, -2.5, r"\bi(?: \w+)? (don'?t|do not|didn'?t|can'?t|cannot|never|wouldn'?t)\b"),
    cue(
        Act::Bans,
        1.0,
        r"\bwe (don't|do not|dont|simply don't|won't) (want|need|support|use|have)\b",
    ),
    cue(
        Act::Bans,
        2.0,
        r"\bso that\b.{2,60}\b(doesn't|does not|don't|do not|never)\b|\bdo away with\b",
    ),
    cue(Act::Bans, 2.0, r"\bno .{2,30} (is |are )?(needed|required|necessary)\b"),
    cue(
        Act::Bans,
        2.5,
        r"\b(just|only) (talking|discussing|planning|exploring|brainstorming|research\w*)\b|\bno (implementation|coding|code changes)\b",
    ),
    // Choices.
    cue(
        Act::Chooses,
        2.0,
        r"\b(let'?s|lets|let us|we'll|we will|i'll|i will) (go with|use|keep|stick (with|to)|leave|switch to|stay with|drop|skip|avoid|not)\b",
    ),
    cue(Act::Chooses, 2.0, r"\b(go|going|went) with (the )?(option|approach|\w+ approach|#?\d)"),
    cue(Act::Chooses, 1.5, r"\bi(?:'d| would)? (?:prefer|rather)\b|\bprefer(red|ably)?\b"),
    cue(Act::Chooses, 0.5, r"\b(we|i think we|i think it|it) should\b"),
    cue(
        Act::Chooses,
        1.5,
        r"\b(separate|dedicated|its own|their own) (type|file|module|commit|branch|function|struct|class|folder|package)s?\b",
    ),
    cue(
        Act::Chooses,
        1.0,
        r"\b(i('ve| have)? (decided|chosen|chose|opted)|the plan is|for now|as discussed|in other words)\b",
    ),
    cue(Act::Chooses, 3.0, r"\bsingle source of truth\b"),
    // How to work.
    cue(
        Act::Instructs,
        2.0,
        r"^(please |always |just |only |so |and |also |then )*(use|keep|prefer|stick|leave|avoid) \S+",
    ),
    cue(Act::Instructs, 1.0, r"^use .{0,60}$"),
    cue(
        Act::Instructs,
        3.5,
        r"\b(please )?(ask|discuss|confirm|check with me|let me know|tell me)\b.{0,40}\b(before|first)\b",
    ),
    cue(
        Act::Instructs,
        1.5,
        r"\b(before|whenever|every time|each time|when) (you|we|i)\b.{0,60}\b(ask|run|use|check|make sure|discuss|update)\b",
    ),
    cue(
        Act::Instructs,
        2.0,
        r"^to (avoid|prevent|keep|get|make|run|test)\b.{3,60}\b(use|pass|run|add|set|pipe|call)\b",
    ),
    cue(
        Act::Instructs,
        2.0,
        r"\bis the (right |correct |only |best |proper |official )?(way|command|endpoint|place) to\b",
    ),
    cue(
        Act::Instructs,
        2.5,
        r"\brun .{2,50}\b(lints?|tests?|checks?|verify|formatt?\w*|types?)\b.{0,12}\b(and|to|before|after)\b|\bto see (the )?results? of\b",
    ),
    cue(Act::Instructs, 3.5, r"\brun `[^`]+ [^`]+`"),
    // Corrections.
    cue(
        Act::Corrects,
        1.0,
        r"^(no|nope|nah|actually|wrong|incorrect|hmm|huh|ouch|wait|but|again|oops|sorry|well)\b[,.!: ]",
    ),
    cue(
        Act::Corrects,
        2.0,
        r"\b(you'?re|you are|that'?s|that is|it'?s|it is) (not|wrong|incorrect|not (right|correct|true))\b",
    ),
    cue(
        Act::Corrects,
        1.5,
        r"\b(you('ve| have)? (attached|deleted|removed|changed|used|forgot|missed|broke|added|put|skipped)|you are (deleting|removing|changing|using|adding))\b",
    ),
    cue(Act::Corrects, 1.5, r"\b(i (said|meant|asked|told you)|as i said|like i said)\b"),
    cue(
        Act::Corrects,
        1.5,
        r"\b(bad (design|idea|practice)|weird architecture|not what i|this is not|wrong (place|file|way)|made (it|this|that) up|make it up)\b",
    ),
    cue(
        Act::Corrects,
        2.0,
        r"\b(is|are|an?) (bad|misleading|overly complex|too complex|unbacked( \w+)?|redundant|unnecessary)\b",
    ),
    // One thing and not another.
    cue(Act::Contrasts, 2.0, r"\b(instead of|rather than|in place of|as opposed to)\b"),
    cue(
        Act::Contrasts,
        1.5,
        r"\w[^.?!]{1,60}(, | and |; |\()not (for|in|as|on|the|a|an|with|via|to|just)?\b",
    ),
    cue(Act::Contrasts, 1.5, r"\bnot\b[^.?!]{2,60}\b(but|just|only)\b"),
    cue(Act::Contrasts, 1.5, r"^\S+ ?\S* not \S+( \S+)?[.!]*$"),
    cue(Act::Contrasts, 1.5, r", but not\b"),
    cue(Act::Contrasts, 1.0, r", just \w+"),
    // For all cases.
    cue(
        Act::Generalises,
        1.0,
        r"\b(always|never|only|from now on|in (the )?future|every time|whenever|by default|in general|everywhere|for (every|all|each)|as a rule|going forward|anymore|no matter)\b",
    ),
    // Reasons.
    cue(
        Act::Reasons,
        0.5,
        r"\b(because|since|so that|otherwise|as it|the reason|due to|that'?ll make|to avoid|in order to)\b",
    ),
    // What is so.
    cue(
        Act::States,
        1.0,
        r"\b(is|are) (not )?(official|related|called|located|stored|used|needed|required|based|named|supported|generated|deprecated|important|disposed|managed)\b",
    ),
    cue(Act::States, 1.0, r"\bi (believe|think|know|noticed|found|checked|confirmed)\b"),
    cue(
        Act::States,
        1.0,
        r"\b(uses?|needs?|requires?) the same\b|\bper the (docs|documentation)\b|\baccording to\b",
    ),
    cue(Act::States, 1.0, r"https?://\S+"),
    cue(
        Act::States,
        1.5,
        r"^(if|when|whenever) .{5,}(, | then )(it|its|the|we|they|then|show|use|return|fall)\b",
    ),
    cue(Act::Generalises, 1.0, r"\b(either way|in any case|regardless)\b"),
    cue(
        Act::States,
        1.0,
        r"\b(we|our \w+|our \w+ \([^)]*\)) (already |only )?(support|use|have|run|deploy|host|target|ship)s?\b",
    ),
    cue(Act::States, 1.0, r"\b(less|more|not|very|most) important\b"),
    cue(
        Act::States,
        2.0,
        r"\b(fails?|failing|breaks?|broken|crash(es)?|hangs?|won't|doesn't work|does not work)\b.{0,60}\b(because|since|unless|due to|when|without)\b",
    ),
    cue(
        Act::States,
        3.0,
        r"^\W*(durable |project |important )*(decision|rule|constraint|preference|note|gotcha|lesson|convention|policy):",
    ),
    // To be remembered.
    cue(
        Act::Remembers,
        10.0,
        r"\b(remember|note|keep in mind|don'?t forget|memorize|make a note)( that\b|: ?\w| this:)|\bfor (future|next) (reference|sessions?|time)\b",
    ),
    cue(
        Act::Withholds,
        -10.0,
        r"\b(do not|don'?t|dont|never) (save|remember|store|record|memorize|keep) (this|that|it|any of this)\b|\b(off the record|not for the memory|no need to remember)\b",
    ),
    cue(
        Act::Corrects,
        5.0,
        r"^(but )?why (can'?t|don'?t|not|aren'?t|isn'?t|can we not|do (i|we) have to)\b",
    ),
    cue(
        Act::Withdraws,
        1.0,
        r"\b(never ?mind|scratch that|forget (it|that|what i said|about that)|undo (that|this|it)|revert (that|this|it)|go back to|stick (with|to)|ignore (that|my last|what i said)|on second thought|actually,? no)\b",
    ),
    // Against.
    cue(Act::Asks, -3.0, r"\?[\x22')]*$"),
    // What is asked for politely is an order.
    cue(Act::Orders, 2.0, r"^(can|could|would|will) (you|we)\b.*\?$"),
    cue(Act::Orders, -2.0, r"^(and |also |then )*(use|keep|leave) (that|it|this|them)\b"),
    cue(
        Act::Orders,
        -3.0,
        r"\buse .{1,40} to (find|read|search|get|check|see|look|open|fetch|summari[sz]e|tell|list)\b|^use \S+ read\b",
    ),
    cue(Act::Asks, -3.0, r"^(what|how|which|who|where|when (should|do|does|did|is|are|will|can))\b"),
    cue(
        Act::Asks,
        -1.0,
        r"^(can|could|would|will|how|what|why|which|who|where|is|are|does|do|did|should|shall|have|has) (you|we|i|it|this|that|the|there|do|does|is|are|to)\b",
    ),
    cue(Act::Chats, -1.5, r"\b(possibly|maybe|perhaps|might)\b"),
    cue(
        Act::Orders,
        -1.5,
        r"^(?:(?:please|now|then|also|and|ok|okay|great|next|first|finally|so|yes|alright|good|perfect|can you|could you|i want you to|i need you to|let'?s|lets|go ahead and|i'd like you to|try to|you can|you should|again) ?[,:]? )*(?:add|create|write|fix|run|update|implement|delete|remove|rename|move|refactor|change|make|check|look|read|review|investigate|explain|show|give|print|generate|commit|push|release|continue|proceed|test|open|list|find|search|build|install|analy[sz]e|locate|pinpoint|extract|convert|wrap|reduce|improve|set ?up|do|try|get|start|finish|complete|debug|help|tell|describe|summari[sz]e|merge|deploy|publish|clean|format|research|compare|verify|ensure|suggest|propose|plan|draft|design|handle|catch|init|ask|put|bump|apply|provide|integrate|replace|append|insert|configure|introduce)\b",
    ),
    cue(
        Act::Reports,
        -2.0,
        r"\b(i('ve| have)? (added|staged|committed|pushed|made|put|updated|fixed|merged|tried|got|get|ran)|it works|works (now|great|fine)|this (looks|seems|works)|that'?s it|looks good|is working|is (partially )?implemented)\b",
    ),
    cue(
        Act::Chats,
        -2.0,
        r"\b(thanks|thank you|do not worry|don't worry|don't know|do not know|don't think|don't understand|don't see|don't remember|don't have|do not have|can't remember|can't see|can't find|not sure|what do you think|i guess|no problem|makes sense|sounds good)\b",
    ),
    cue(Act::Chats, -2.0, r"^(i'?m|i am) (working|trying|getting|seeing|looking|not sure)\b"),
    // Only here and now.
    cue(
        Act::Orders,
        -1.0,
        r"\b(this (time|one|commit|pr|task|session)|right now|for today|do not (take|do) any|don't do any|any questions|commit message)\b",
    ),
];

/// The cues, as one automaton.
static BUILT: LazyLock<Regex> = LazyLock::new(|| {
    let patterns: Vec<&str> = CUES.iter().map(|cue| cue.pattern).collect();
    crate::patterns::built(&patterns)
});

/// A sentence, and what it does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weighed {
    pub(crate) acts: Vec<Act>,
    pub(crate) weight: f64,
}

impl Weighed {
    pub(crate) fn does(&self, act: Act) -> bool {
        self.acts.contains(&act)
    }

    /// The type of memory that such a sentence is.
    pub(crate) fn kind(&self) -> MemoryType {
        let does = |act| self.does(act);
        if does(Act::Corrects) && (does(Act::Bans) || does(Act::Contrasts) || does(Act::States)) {
            MemoryType::Correction
        } else if does(Act::Chooses) {
            MemoryType::Decision
        } else if does(Act::Instructs) {
            MemoryType::Preference
        } else if does(Act::Bans) || does(Act::Obliges) {
            MemoryType::Constraint
        } else if does(Act::Wants) || does(Act::Contrasts) {
            MemoryType::Decision
        } else if does(Act::Corrects) {
            MemoryType::Correction
        } else {
            MemoryType::Fact
        }
    }
}

/// Lower case, straight quotes, one space between words.
pub(crate) fn folded(sentence: &str) -> String {
    let lower = sentence.to_lowercase().replace(['\u{2019}', '\u{2018}'], "'");
    let lower = lower.replace(['\u{201c}', '\u{201d}'], "\"").replace('_', " ");
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words from which on a sentence is weighed clause by clause: people write on without a stop.
const RUN_ON_WORDS: usize = 26;

/// Weighs a sentence: as a whole, and one that runs on and on as the weightiest of its clauses.
pub(crate) fn weigh(sentence: &str) -> Weighed {
    let text = folded(&without_quotes(sentence));
    let whole = weigh_folded(&text, shouts(sentence));
    if text.split(' ').count() < RUN_ON_WORDS {
        return whole;
    }
    let clauses = text.split(", ").flat_map(|clause| clause.split(" but "));
    let each = clauses.map(|clause| weigh_folded(clause, false));
    each.fold(whole, |best, next| if next.weight > best.weight { next } else { best })
}

fn weigh_folded(text: &str, shouted: bool) -> Weighed {
    let mut acts = Vec::new();
    let mut weight = 0.0;
    let mut set = regex_automata::PatternSet::new(BUILT.pattern_len());
    BUILT.which_overlapping_matches(&regex_automata::Input::new(text), &mut set);
    for pattern in set.iter() {
        let cue = &CUES[pattern.as_usize()];
        weight += cue.weight;
        if !acts.contains(&cue.act) {
            acts.push(cue.act);
        }
    }
    if shouted {
        weight += 1.0;
    }
    Weighed { acts, weight }
}

/// Words in double quotes from which on a quote is somebody else's sentence.
const QUOTED_WORDS_MIN: usize = 4;

/// A sentence without the sentences that it quotes: they are not what it says itself.
fn without_quotes(sentence: &str) -> String {
    let sentence = sentence.replace(['\u{201c}', '\u{201d}'], "\"");
    let mut parts = sentence.split('"');
    let mut out = parts.next().unwrap_or_default().to_owned();
    let rest: Vec<&str> = parts.collect();
    for pair in rest.chunks(2) {
        match pair {
            [quoted, after] if quoted.split_whitespace().count() >= QUOTED_WORDS_MIN => {
                out.push_str("\"…\"");
                out.push_str(after);
            }
            _ => out.extend(pair.iter().flat_map(|part| ["\"", part])),
        }
    }
    out
}

/// Whether a sentence announces a list of questions, or of what might be.
pub(crate) fn wonders(sentence: &str) -> bool {
    let lower = folded(sentence);
    let asks = ["question", "what happens", "what if", "difference", "either:"];
    lower.ends_with([':', ';', ',']) && asks.iter().any(|word| lower.contains(word))
}

/// Whether a sentence announces a list of rules.
pub(crate) fn announces(sentence: &str) -> bool {
    const WORDS: [&str; 7] =
        ["following", "like so", "as follows", "such that", "these rules", "rules:", "like this:"];
    let lower = folded(sentence);
    lower.ends_with([':', ';']) && WORDS.iter().any(|word| lower.contains(word))
}

/// Whether somebody wrote with emphasis: several exclamation marks, or a word of orders in capitals.
fn shouts(sentence: &str) -> bool {
    const WORDS: [&str; 9] =
        ["USE", "NOT", "NEVER", "ALWAYS", "MUST", "DON'T", "DO", "ONLY", "STOP"];
    let words = || sentence.split(|c: char| !c.is_alphabetic() && c != '\'');
    sentence.ends_with("!!") || words().any(|word| WORDS.contains(&word))
}
