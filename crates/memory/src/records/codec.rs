//! A record on disk: tagged fields, ascending; the table is in `docs/format.md`.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::records::access::{Access, Classification};
use crate::records::content::{BlobId, Content};
use crate::records::identity::{IDENTITY_BYTES, Identity};
use crate::records::kinds;
use crate::records::provenance::{Provenance, Review, Trust};
use crate::records::record::{
    BranchId, Decision, KIND_DEFAULT, Micros, NewRecord, Origin, Record, Source,
};
use crate::records::uri::Uri;

const OPERATION: u8 = 2;
const FRESH: u8 = 3;
const URI: u8 = 4;
const RECORDED_AT: u8 = 6;
const CREATED_AT: u8 = 8;
const KIND: u8 = 10;
const TITLE: u8 = 12;
const TEXT: u8 = 14;
const LABEL: u8 = 15;
const TAG: u8 = 17;
const METADATA: u8 = 19;
const ENTITY: u8 = 21;
const DOMAIN: u8 = 23;
const AGENT: u8 = 25;
const RUN: u8 = 27;
const CONFIDENCE: u8 = 29;
const SOURCE: u8 = 31;
const BRANCH: u8 = 32;
const ORIGIN: u8 = 33;
const SYSTEM: u8 = 34;
const CONFLICTS_WITH: u8 = 36;
/// Even: a program that does not know it must not show what it protects.
const ACCESS: u8 = 38;
const PROVENANCE: u8 = 39;
/// Odd: a program that does not know it shows a record of the capsule about itself, and no memory.
const SIGNATURE: u8 = 41;
/// Odd, as the next one: a program that does not know them shows the record all the same.
const IDENTITY: u8 = 43;
const REPLACES: u8 = 45;
const ERASED: u8 = 47;
/// Odd: a program that does not know it shows the record without the file.
const CONTENT: u8 = 49;
/// Odd: of a blob, which no program shows.
const BYTES: u8 = 51;

/// What a revision does to its URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Put = 0,
    Tombstone = 1,
    /// A tombstone that also asks compaction to erase every earlier revision, on every branch.
    Purge = 2,
    /// The URI stands for another, which is the text.
    Alias = 3,
}

/// What the capsule adds to a record: where it belongs and where it comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Envelope {
    pub(crate) branch: BranchId,
    pub(crate) system: bool,
    pub(crate) conflicts_with: Vec<u64>,
    pub(crate) origin: Option<Origin>,
    pub(crate) provenance: Provenance,
    /// The identity that it has elsewhere; none for what is written here.
    pub(crate) identity: Option<Identity>,
    /// The revisions that it replaces by their identities, where the log does not tell.
    pub(crate) replaces: Vec<Identity>,
    /// Of a purge: the revisions that it erases, which are never brought again.
    pub(crate) erased: Vec<Identity>,
}

/// A decoded body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Body {
    pub(crate) operation: Operation,
    /// Whether the URI was made for this record, so that no earlier revision can exist.
    pub(crate) fresh: bool,
    /// The identity that it has elsewhere; none for what was written here.
    pub(crate) identity: Option<Identity>,
    /// The revisions that it replaces, where the log does not tell.
    pub(crate) replaces: Vec<Identity>,
    /// Of a purge: the revisions that it erases.
    pub(crate) erased: Vec<Identity>,
    pub(crate) record: Record,
}

impl Body {
    /// Whether search by meaning needs vectors of it: a memory with a text.
    pub(crate) fn is_embedded(&self) -> bool {
        self.operation == Operation::Put && !self.record.system && !self.record.text.is_empty()
    }
}

struct Encoder(Vec<u8>);

impl Encoder {
    fn field(&mut self, tag: u8, bytes: &[u8]) {
        self.0.push(tag);
        push_leb128(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, tag: u8, text: &str) {
        if !text.is_empty() {
            self.field(tag, text.as_bytes());
        }
    }

    fn envelope(&mut self, envelope: &Envelope) {
        if envelope.branch != BranchId::MAIN {
            self.field(BRANCH, &leb128([envelope.branch.0]));
        }
        if let Some(origin) = &envelope.origin {
            self.field(ORIGIN, &encode_origin(origin));
        }
        if envelope.system {
            self.field(SYSTEM, &[]);
        }
        if !envelope.conflicts_with.is_empty() {
            self.field(CONFLICTS_WITH, &leb128(envelope.conflicts_with.iter().copied()));
        }
    }

    /// What is of a revision's life in other capsules, or of what was erased here.
    fn identities(&mut self, envelope: &Envelope) {
        if let Some(identity) = &envelope.identity {
            self.field(IDENTITY, &identity.0);
        }
        for (tag, all) in [(REPLACES, &envelope.replaces), (ERASED, &envelope.erased)] {
            if !all.is_empty() {
                self.field(tag, &all.iter().flat_map(|one| one.0).collect::<Vec<u8>>());
            }
        }
    }

    /// What the owner wrote says nothing of it.
    fn provenance(&mut self, provenance: &Provenance) {
        if *provenance != Provenance::default() {
            self.field(PROVENANCE, &encode_provenance(provenance));
        }
    }
}

/// Encodes a record that is put.
pub(crate) fn encode(
    record: &NewRecord,
    uri: &Uri,
    fresh: bool,
    now: Micros,
    envelope: &Envelope,
) -> Vec<u8> {
    let mut out = Encoder(Vec::with_capacity(record.text.len() + 160));
    head(&mut out, Operation::Put, fresh, uri, now, record.created_at.unwrap_or(now));
    let kind = if record.kind.is_empty() { KIND_DEFAULT } else { &record.kind };
    out.text(KIND, kind);
    out.text(TITLE, &record.title);
    out.text(TEXT, &record.text);
    out.text(LABEL, &record.label);
    for (name, value) in &record.tags {
        let mut tag = Vec::with_capacity(name.len() + value.len() + 2);
        push_leb128(&mut tag, name.len() as u64);
        tag.extend_from_slice(name.as_bytes());
        tag.extend_from_slice(value.as_bytes());
        out.field(TAG, &tag);
    }
    out.text(METADATA, &record.metadata_json());
    out.text(ENTITY, &record.entity);
    out.text(DOMAIN, &record.domain);
    out.text(AGENT, &record.agent);
    out.text(RUN, &record.run);
    if let Some(confidence) = record.confidence {
        out.field(CONFIDENCE, &confidence.to_le_bytes());
    }
    if let Some(source) = &record.source {
        out.field(SOURCE, &encode_source(source));
    }
    out.envelope(envelope);
    if let Some(access) = &record.access {
        out.field(ACCESS, &encode_access(access));
    }
    out.provenance(&envelope.provenance);
    out.identities(envelope);
    if let Some(content) = &record.content {
        out.field(CONTENT, &content.encode());
    }
    out.0
}

/// Encodes a blob of these bytes.
pub(crate) fn encode_blob(uri: &Uri, now: Micros, bytes: &[u8]) -> Vec<u8> {
    let mut out = Encoder(Vec::with_capacity(bytes.len() + 192));
    head(&mut out, Operation::Put, true, uri, now, now);
    out.text(KIND, kinds::BLOB);
    out.envelope(&Envelope { system: true, ..Envelope::default() });
    out.field(BYTES, bytes);
    out.0
}

/// The bytes of the blob with this body, if it is that blob.
pub(crate) fn blob_in<'a>(body: &'a [u8], id: &BlobId) -> Option<&'a [u8]> {
    field_in(body, BYTES).filter(|bytes| BlobId::of(bytes) == *id)
}

/// Encodes a tombstone, with the agent that forgot; empty where none is named.
pub(crate) fn encode_tombstone(
    operation: Operation,
    uri: &Uri,
    agent: &str,
    now: Micros,
    envelope: &Envelope,
) -> Vec<u8> {
    let mut out = Encoder(Vec::with_capacity(96));
    head(&mut out, operation, false, uri, now, now);
    out.text(AGENT, agent);
    out.envelope(envelope);
    out.provenance(&envelope.provenance);
    out.identities(envelope);
    out.0
}

/// Encodes an alias of `uri` for `target`.
pub(crate) fn encode_alias(uri: &Uri, target: &Uri, now: Micros, envelope: &Envelope) -> Vec<u8> {
    let mut out = Encoder(Vec::with_capacity(128));
    head(&mut out, Operation::Alias, false, uri, now, now);
    out.text(TEXT, target.as_str());
    out.envelope(envelope);
    out.provenance(&envelope.provenance);
    out.identities(envelope);
    out.0
}

/// Encodes the signature of the commit that it ends. There is no other form: whoever checks one
/// compares the whole body.
pub(crate) fn encode_signature(uri: &Uri, now: Micros, signature: &[u8]) -> Vec<u8> {
    let mut out = Encoder(Vec::with_capacity(192));
    head(&mut out, Operation::Put, true, uri, now, now);
    out.text(KIND, kinds::SIGNATURE);
    out.envelope(&Envelope { system: true, ..Envelope::default() });
    out.field(SIGNATURE, signature);
    out.0
}

/// What a body says in the field of signatures, if it has one.
pub(crate) fn signature_in(body: &[u8]) -> Option<&[u8]> {
    field_in(body, SIGNATURE)
}

/// A field of a body, found without decoding the rest.
fn field_in(mut body: &[u8], wanted: u8) -> Option<&[u8]> {
    while let Some((&tag, after)) = body.split_first() {
        body = after;
        let value = take_bytes(&mut body)?;
        if tag == wanted {
            return Some(value);
        }
    }
    None
}

/// The identity of the record with this body, found without decoding the rest.
pub(crate) fn identity_of_stored(sequence: u64, bytes: &[u8]) -> Identity {
    let named = field_in(bytes, IDENTITY).and_then(|value| identity_of(value).ok());
    named.unwrap_or_else(|| Identity::of(blake3::hash(bytes).as_bytes(), sequence))
}

fn head(
    out: &mut Encoder,
    operation: Operation,
    fresh: bool,
    uri: &Uri,
    now: Micros,
    created: Micros,
) {
    out.field(OPERATION, &[operation as u8]);
    if fresh {
        out.field(FRESH, &[]);
    }
    out.field(URI, uri.as_str().as_bytes());
    out.field(RECORDED_AT, &now.to_le_bytes());
    out.field(CREATED_AT, &created.to_le_bytes());
}

fn leb128(values: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut out = Vec::new();
    values.into_iter().for_each(|value| push_leb128(&mut out, value));
    out
}

fn encode_origin(origin: &Origin) -> Vec<u8> {
    let mut out = leb128([origin.branch.0, origin.sequence]);
    out.push(
        DECISIONS.iter().position(|d| *d == origin.decision).expect("every decision is listed")
            as u8,
    );
    push_leb128(&mut out, origin.by.len() as u64);
    out.extend_from_slice(origin.by.as_bytes());
    out.extend_from_slice(origin.note.as_bytes());
    out
}

/// No sequence is as large, and so no branch's id.
const BRANCH_ID_MAX: u64 = 1 << 62;

/// Decisions by their number on disk.
const DECISIONS: [Decision; 7] = [
    Decision::Merged,
    Decision::Theirs,
    Decision::Ours,
    Decision::Contested,
    Decision::Edited,
    Decision::Picked,
    Decision::Reverted,
];

fn encode_access(access: &Access) -> Vec<u8> {
    let mut out = vec![access.level.rank()];
    for name in &access.named {
        push_leb128(&mut out, name.len() as u64);
        out.extend_from_slice(name.as_bytes());
    }
    out
}

fn encode_provenance(provenance: &Provenance) -> Vec<u8> {
    let number = Trust::ALL.iter().position(|trust| *trust == provenance.trust);
    let mut out = vec![number.expect("all are listed") as u8];
    push_leb128(&mut out, provenance.principal.len() as u64);
    out.extend_from_slice(provenance.principal.as_bytes());
    if let Some(review) = &provenance.review {
        push_leb128(&mut out, review.item);
        out.extend_from_slice(review.by.as_bytes());
    }
    out
}

fn encode_source(source: &Source) -> Vec<u8> {
    let mut out = Vec::with_capacity(source.path.len() + 24);
    push_leb128(&mut out, u64::from(source.line_start));
    push_leb128(&mut out, u64::from(source.line_end));
    let hash = u128::from_str_radix(&source.content_hash, 16).unwrap_or(0);
    out.extend_from_slice(&hash.to_be_bytes());
    out.extend_from_slice(source.path.as_bytes());
    out
}

/// Decodes the body of record `sequence`.
pub(crate) fn decode(sequence: u64, bytes: &[u8]) -> Result<Body> {
    let damaged = |reason| Error::DamagedRecord { sequence, reason };
    let mut decoder = Decoder { body: empty_body(sequence), uri: None };
    let mut rest = bytes;
    let mut previous = 0;
    while let Some((&tag, after)) = rest.split_first() {
        rest = after;
        let value = take_bytes(&mut rest).ok_or(damaged("a field is cut short"))?;
        if tag < previous || (tag == previous && tag != TAG) {
            return Err(damaged("its fields are not in order"));
        }
        previous = tag;
        decoder.field(tag, value).map_err(damaged)?;
    }
    decoder.finish().map_err(damaged)
}

/// What indexes need to know of a body, without decoding the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Brief<'a> {
    pub(crate) uri: &'a [u8],
    pub(crate) branch: BranchId,
    pub(crate) system: bool,
    pub(crate) conflicts_with: Vec<u64>,
    pub(crate) purge: bool,
}

/// The brief of a body; none when it has no URI or is cut short.
pub(crate) fn brief(mut body: &[u8]) -> Option<Brief<'_>> {
    let mut brief = Brief::default();
    while let Some((&tag, after)) = body.split_first() {
        body = after;
        let value = take_bytes(&mut body)?;
        match tag {
            OPERATION => brief.purge = value == [Operation::Purge as u8],
            URI => brief.uri = value,
            BRANCH => brief.branch = branch_of(value).ok()?,
            SYSTEM => brief.system = true,
            CONFLICTS_WITH => brief.conflicts_with = numbers_of(value).ok()?,
            _ => {}
        }
    }
    (!brief.uri.is_empty()).then_some(brief)
}

struct Decoder {
    body: Body,
    uri: Option<Uri>,
}

impl Decoder {
    fn field(&mut self, tag: u8, value: &[u8]) -> Result<(), &'static str> {
        let record = &mut self.body.record;
        match tag {
            OPERATION => self.body.operation = operation(value)?,
            FRESH => self.body.fresh = true,
            URI => self.uri = Some(uri_of(value)?),
            RECORDED_AT => record.committed_at = i64::from_le_bytes(eight(value)?),
            CREATED_AT => record.created_at = i64::from_le_bytes(eight(value)?),
            KIND => record.kind = text(value)?,
            TITLE => record.title = text(value)?,
            TEXT => record.text = text(value)?,
            LABEL => record.label = text(value)?,
            TAG => {
                let (name, value) = tag_of(value)?;
                record.tags.insert(name, value);
            }
            METADATA => {
                record.metadata =
                    serde_json::from_slice(value).map_err(|_| "its metadata is no JSON object")?
            }
            ENTITY => record.entity = text(value)?,
            DOMAIN => record.domain = text(value)?,
            AGENT => record.agent = text(value)?,
            RUN => record.run = text(value)?,
            CONFIDENCE => record.confidence = Some(f64::from_le_bytes(eight(value)?)),
            SOURCE => record.source = Some(source_of(value)?),
            BRANCH => record.branch = branch_of(value)?,
            ORIGIN => record.origin = Some(origin_of(value)?),
            SYSTEM => record.system = true,
            CONFLICTS_WITH => record.conflicts_with = numbers_of(value)?,
            ACCESS => record.access = Some(access_of(value)?),
            PROVENANCE => record.provenance = provenance_of(value)?,
            IDENTITY => self.body.identity = Some(identity_of(value)?),
            REPLACES => self.body.replaces = identities_of(value)?,
            ERASED => self.body.erased = identities_of(value)?,
            CONTENT => record.content = Some(Content::decode(value)?),
            _ if tag.is_multiple_of(2) => {
                return Err("it holds a field that a newer Kapsa must explain");
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Body, &'static str> {
        self.body.record.uri = self.uri.ok_or("it has no URI")?;
        if self.body.operation == Operation::Alias {
            self.body.record.alias = Some(uri_of(self.body.record.text.as_bytes())?);
        }
        self.body.record.tombstone =
            matches!(self.body.operation, Operation::Tombstone | Operation::Purge);
        Ok(self.body)
    }
}

fn empty_body(sequence: u64) -> Body {
    Body {
        operation: Operation::Put,
        fresh: false,
        identity: None,
        replaces: Vec::new(),
        erased: Vec::new(),
        record: blank(sequence),
    }
}

/// A record without content, as erasure leaves it.
pub(crate) fn blank(sequence: u64) -> Record {
    Record {
        sequence,
        uri: Uri::erased(),
        tombstone: false,
        purged: false,
        committed_at: 0,
        created_at: 0,
        title: String::new(),
        text: String::new(),
        kind: String::new(),
        label: String::new(),
        tags: BTreeMap::new(),
        metadata: serde_json::Map::new(),
        entity: String::new(),
        domain: String::new(),
        agent: String::new(),
        run: String::new(),
        confidence: None,
        source: None,
        access: None,
        content: None,
        provenance: Provenance::default(),
        branch: BranchId::MAIN,
        system: false,
        conflicts_with: Vec::new(),
        origin: None,
        alias: None,
    }
}

fn operation(value: &[u8]) -> Result<Operation, &'static str> {
    match value {
        [0] => Ok(Operation::Put),
        [1] => Ok(Operation::Tombstone),
        [2] => Ok(Operation::Purge),
        [3] => Ok(Operation::Alias),
        _ => Err("its operation is unknown"),
    }
}

/// Looked for by its bytes: a short form would be shown and never found.
fn uri_of(value: &[u8]) -> Result<Uri, &'static str> {
    let uri = Uri::parse(&text(value)?).map_err(|_| "its URI is not one")?;
    if uri.as_str().as_bytes() == value { Ok(uri) } else { Err("its URI is not in canonical form") }
}

fn text(value: &[u8]) -> Result<String, &'static str> {
    String::from_utf8(value.to_vec()).map_err(|_| "a text is not UTF-8")
}

fn eight(value: &[u8]) -> Result<[u8; 8], &'static str> {
    value.try_into().map_err(|_| "a number has not eight bytes")
}

fn tag_of(mut value: &[u8]) -> Result<(String, String), &'static str> {
    let name = take_bytes(&mut value).ok_or("a tag is cut short")?;
    Ok((text(name)?, text(value)?))
}

fn source_of(mut value: &[u8]) -> Result<Source, &'static str> {
    const DAMAGE: &str = "its source is cut short";
    let line_start = take_leb128(&mut value).ok_or(DAMAGE)? as u32;
    let line_end = take_leb128(&mut value).ok_or(DAMAGE)? as u32;
    let (hash, path) = value.split_at_checked(16).ok_or(DAMAGE)?;
    let hash = u128::from_be_bytes(hash.try_into().expect("sixteen bytes"));
    Ok(Source { path: text(path)?, line_start, line_end, content_hash: format!("{hash:032x}") })
}

fn access_of(value: &[u8]) -> Result<Access, &'static str> {
    let (rank, mut rest) = value.split_first().ok_or("its level of access is missing")?;
    let level =
        *Classification::ALL.get(usize::from(*rank)).ok_or("its level of access is unknown")?;
    let mut named = Vec::new();
    while !rest.is_empty() {
        named.push(text(take_bytes(&mut rest).ok_or("a name in its access is cut short")?)?);
    }
    Ok(Access { level, named })
}

fn provenance_of(value: &[u8]) -> Result<Provenance, &'static str> {
    const DAMAGE: &str = "what it says of its writer is cut short";
    let (number, mut rest) = value.split_first().ok_or(DAMAGE)?;
    let trust = *Trust::ALL.get(usize::from(*number)).ok_or("its trust is unknown")?;
    let principal = text(take_bytes(&mut rest).ok_or(DAMAGE)?)?;
    let mut review = None;
    if !rest.is_empty() {
        let item = take_leb128(&mut rest).ok_or(DAMAGE)?;
        review = Some(Review { by: text(rest)?, item });
    }
    Ok(Provenance { trust, principal, review })
}

fn identity_of(value: &[u8]) -> Result<Identity, &'static str> {
    value.try_into().map(Identity).map_err(|_| "its identity has not sixteen bytes")
}

fn identities_of(value: &[u8]) -> Result<Vec<Identity>, &'static str> {
    value.chunks(IDENTITY_BYTES).map(identity_of).collect()
}

fn branch_of(mut value: &[u8]) -> Result<BranchId, &'static str> {
    let id = take_leb128(&mut value).filter(|id| (1..BRANCH_ID_MAX).contains(id));
    id.filter(|_| value.is_empty()).map(BranchId).ok_or("its branch is not a number")
}

/// Ascending numbers.
fn numbers_of(mut value: &[u8]) -> Result<Vec<u64>, &'static str> {
    let mut numbers = Vec::new();
    while !value.is_empty() {
        let number = take_leb128(&mut value).filter(|n| numbers.last().is_none_or(|last| last < n));
        numbers.push(number.ok_or("its list of numbers is cut short or not in order")?);
    }
    Ok(numbers)
}

fn origin_of(mut value: &[u8]) -> Result<Origin, &'static str> {
    const DAMAGE: &str = "its origin is cut short";
    let branch = BranchId(take_leb128(&mut value).ok_or(DAMAGE)?);
    let sequence = take_leb128(&mut value).ok_or(DAMAGE)?;
    let (number, mut rest) = value.split_first().ok_or(DAMAGE)?;
    let decision = *DECISIONS.get(usize::from(*number)).ok_or("its decision is unknown")?;
    let by = text(take_bytes(&mut rest).ok_or(DAMAGE)?)?;
    Ok(Origin { branch, sequence, decision, by, note: text(rest)? })
}

fn push_leb128(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_leb128(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(take_leb128(bytes)?).ok()?;
    let (value, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> NewRecord {
        NewRecord {
            uri: None,
            title: "Title".to_string(),
            text: "text \u{1b}[31m é".to_string(),
            kind: "fact".to_string(),
            label: "builder".to_string(),
            tags: BTreeMap::from([
                ("a".to_string(), "1".to_string()),
                ("b".to_string(), String::new()),
            ]),
            metadata: serde_json::from_str(r#"{"x":[1,{"y":null}]}"#).expect("JSON"),
            entity: "acme".to_string(),
            domain: "sales".to_string(),
            agent: "cro".to_string(),
            run: "r1".to_string(),
            confidence: Some(0.25),
            created_at: Some(-5),
            source: Some(Source {
                path: "a/b.md".to_string(),
                line_start: 3,
                line_end: 900,
                content_hash: format!("{:032x}", 77),
            }),
            access: Some(Access::restricted(["cro", "ž"])),
            trust: None,
            content: Some(Content {
                size: 3,
                hash: [5; 32],
                media_type: "image/png".to_string(),
                name: "é.png".to_string(),
                blobs: vec![BlobId::of(b"abc")],
            }),
        }
    }

    fn enveloped() -> Envelope {
        let origin = Origin {
            branch: BranchId::MAIN,
            sequence: 300,
            decision: Decision::Reverted,
            by: "reviewer".to_string(),
            note: "because é".to_string(),
        };
        Envelope {
            branch: BranchId(129),
            system: true,
            conflicts_with: vec![2, 500],
            origin: Some(origin),
            provenance: Provenance {
                trust: Trust::Model,
                principal: "cro é".to_string(),
                review: Some(Review { by: "ana".to_string(), item: 300 }),
            },
            identity: Some(Identity([7; IDENTITY_BYTES])),
            replaces: vec![Identity([1; IDENTITY_BYTES]), Identity([9; IDENTITY_BYTES])],
            erased: vec![Identity([3; IDENTITY_BYTES])],
        }
    }

    #[test]
    fn an_envelope_comes_back_and_is_known_in_brief() {
        let uri = Uri::parse("note/x").expect("valid");
        let bytes = encode(&full(), &uri, false, 1, &enveloped());
        let body = decode(600, &bytes).expect("decodes");
        let r = body.record;
        let back = Envelope {
            branch: r.branch,
            system: r.system,
            conflicts_with: r.conflicts_with,
            origin: r.origin,
            provenance: r.provenance,
            identity: body.identity,
            replaces: body.replaces,
            erased: body.erased,
        };
        assert_eq!(back, enveloped());
        let brief = brief(&bytes).expect("whole");
        let known =
            (brief.uri, brief.branch, brief.system, brief.conflicts_with.as_slice(), brief.purge);
        assert_eq!(known, (uri.as_str().as_bytes(), BranchId(129), true, &[2, 500][..], false));
        let bytes = encode_tombstone(Operation::Purge, &uri, "", 1, &Envelope::default());
        assert!(
            super::brief(&bytes).is_some_and(|brief| brief.purge && brief.branch == BranchId::MAIN)
        );
    }

    #[test]
    fn an_alias_names_its_target() {
        let (old, new) =
            (Uri::parse("note/x").expect("valid"), Uri::parse("note/y").expect("valid"));
        let body = decode(1, &encode_alias(&old, &new, 1, &Envelope::default())).expect("decodes");
        assert_eq!((body.record.alias, body.record.tombstone), (Some(new), false));
    }

    #[test]
    fn a_record_comes_back_field_by_field() {
        let uri = Uri::parse("note/x").expect("valid");
        let body =
            decode(9, &encode(&full(), &uri, true, 123, &Envelope::default())).expect("decodes");
        assert_eq!((body.operation, body.fresh), (Operation::Put, true));
        let (r, f) = (body.record, full());
        assert_eq!((r.sequence, r.uri, r.committed_at, r.created_at), (9, uri, 123, -5));
        assert_eq!(
            (r.title, r.text, r.kind, r.label, r.tags),
            (f.title, f.text, f.kind, f.label, f.tags)
        );
        assert_eq!(
            (r.metadata, r.entity, r.domain, r.agent, r.run),
            (f.metadata, f.entity, f.domain, f.agent, f.run)
        );
        assert_eq!((r.confidence, r.source, r.content), (f.confidence, f.source, f.content));
    }

    #[test]
    fn a_cut_body_is_an_error_or_a_shorter_record_and_never_a_panic() {
        let bytes = encode(&full(), &Uri::parse("note/x").expect("valid"), false, 1, &enveloped());
        for len in 0..bytes.len() {
            let _checked_for_panics = decode(1, &bytes[..len]);
        }
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 0xff;
            let _checked_for_panics = decode(1, &damaged);
        }
    }

    #[test]
    fn a_stored_uri_is_in_canonical_form() {
        let canonical = encode(
            &NewRecord::text("t"),
            &Uri::parse("note/x").expect("valid"),
            false,
            1,
            &Envelope::default(),
        );
        assert!(decode(1, &canonical).is_ok());
        let uri = b"mv2://default/note/x";
        let at = canonical.windows(uri.len()).position(|bytes| bytes == uri).expect("it is stored");
        let short = [&canonical[..at - 1], &[6], b"note/x", &canonical[at + uri.len()..]].concat();
        assert!(matches!(decode(1, &short), Err(Error::DamagedRecord { .. })));
    }

    #[test]
    fn unknown_odd_fields_are_skipped_and_even_ones_refused() {
        let mut bytes =
            encode(&NewRecord::text("t"), &Uri::parse("x").expect("valid"), false, 1, &enveloped());
        bytes.extend_from_slice(&[251, 1, 0]);
        assert!(decode(1, &bytes).is_ok());
        bytes.extend_from_slice(&[252, 1, 0]);
        assert!(matches!(decode(1, &bytes), Err(Error::DamagedRecord { .. })));
    }
}
