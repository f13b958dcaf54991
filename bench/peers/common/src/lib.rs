//! What the corpus and the peer programs agree on: the shape of a record, and the verbs of a peer.

pub mod peer;
pub mod record;
