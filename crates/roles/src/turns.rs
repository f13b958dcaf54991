//! How a model comes to an answer with tools: a conversation of limited length; what it is about is
//! not known here.

use std::sync::Arc;

use super::tool::{self, Tool};
use kapsa_model::{ChatReply, ChatRequest, LanguageModel, Message, ModelError, Usage};

/// How far a conversation came.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Requests that were answered.
    pub(super) steps: u32,
    /// Tokens of all turns, also of one that failed.
    pub(super) usage: Usage,
    /// What the model said last.
    pub(super) text: String,
    /// Whether that is its answer: it called nothing more.
    pub(super) answered: bool,
}

/// Asks until the model calls no tool any more, at most `steps_max` times; not at all when that is
/// 0. What it calls in the last step is not done: nobody would look at the result.
pub(super) async fn talk(
    model: &dyn LanguageModel,
    mut request: ChatRequest,
    tools: &[Arc<dyn Tool>],
    steps_max: u32,
    turns: &mut Turns,
) -> Result<(), ModelError> {
    while turns.steps < steps_max {
        let reply = match model.complete(&request).await {
            Ok(reply) => reply,
            Err(error) => {
                turns.usage += error.usage;
                return Err(error);
            }
        };
        turns.steps += 1;
        turns.usage += reply.usage;
        turns.text.clone_from(&reply.text);
        turns.answered = reply.tool_calls.is_empty();
        if turns.answered {
            break;
        }
        if turns.steps < steps_max {
            answer(&mut request, reply, tools).await;
        }
    }
    Ok(())
}

/// Adds a reply and the results of what it calls to the conversation.
async fn answer(request: &mut ChatRequest, reply: ChatReply, tools: &[Arc<dyn Tool>]) {
    let calls = reply.tool_calls.clone();
    request.messages.push(Message::Assistant { text: reply.text, tool_calls: reply.tool_calls });
    for call in &calls {
        request.messages.push(tool::answer(tools, call).await);
    }
}
