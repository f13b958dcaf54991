//! Which characters the bytes of a shown text stand for, and how wide they are.

use std::collections::HashMap;

use lopdf::{Dictionary, Document, Encoding, Object};

use super::resolve;
use super::unpack::Budget;
use crate::error::ReadError;

/// What the map of a font to characters may unpack to, in bytes.
const MAP_BYTES_MAX: usize = 4 << 20;
/// Width of a character whose font does not say it, in thousandths of its size.
const WIDTH_DEFAULT: f32 = 500.0;
/// Width of a character of a composite font that does not say it.
const COMPOSITE_WIDTH_DEFAULT: f32 = 1000.0;
/// Most widths of a font that are kept.
const WIDTHS_MAX: usize = 1 << 16;
/// Flag of a font whose codes are its own.
const SYMBOLIC: i64 = 1 << 2;
/// Size of a unit of a width.
const UNIT: f32 = 1000.0;

/// A font.
pub(super) struct Font<'d> {
    encoding: Option<Encoding<'d>>,
    widths: HashMap<u16, f32>,
    width: f32,
    /// Whether two bytes are a character.
    is_composite: bool,
}

/// What a text shows.
pub(super) struct Shown {
    pub(super) text: String,
    /// Its width in sizes of its font.
    pub(super) width: f32,
    /// How many characters it has.
    pub(super) count: usize,
    /// How many of them are spaces of one byte.
    pub(super) spaces: usize,
}

/// The fonts of a document. Each is read once, however many pages name it.
pub(super) struct Fonts<'d> {
    document: &'d Document,
    known: HashMap<*const Dictionary, Font<'d>>,
    /// What the maps of fonts may still unpack to: any number of fonts may share one.
    budget: Budget,
    /// Texts whose characters nobody can tell.
    pub(super) unreadable: usize,
}

impl<'d> Fonts<'d> {
    pub(super) fn new(document: &'d Document, budget: Budget) -> Self {
        Fonts { document, known: HashMap::new(), budget, unreadable: 0 }
    }

    /// What a text of a font shows.
    pub(super) fn show(&mut self, font: Option<&'d Dictionary>, bytes: &[u8]) -> Shown {
        let Some(dictionary) = font else {
            self.unreadable += usize::from(!bytes.is_empty());
            return Shown { text: String::new(), width: 0.0, count: 0, spaces: 0 };
        };
        let (document, budget) = (self.document, &mut self.budget);
        let font = self
            .known
            .entry(std::ptr::from_ref(dictionary))
            .or_insert_with(|| Font::read(document, dictionary, budget));
        let decoded = font.encoding.as_ref().and_then(|found| found.bytes_to_string(bytes).ok());
        if decoded.as_ref().is_none_or(String::is_empty) && !bytes.is_empty() {
            self.unreadable += 1;
        }
        let text = decoded.unwrap_or_default();
        let (width, count) = font.measure(bytes);
        let spaces =
            if font.is_composite { 0 } else { bytes.iter().filter(|b| **b == b' ').count() };
        Shown { text: readable(&text), width, count, spaces }
    }
}

/// The text without what stands for no character, with ligatures taken apart.
fn readable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{fb00}' => out.push_str("ff"),
            '\u{fb01}' => out.push_str("fi"),
            '\u{fb02}' => out.push_str("fl"),
            '\u{fb03}' => out.push_str("ffi"),
            '\u{fb04}' => out.push_str("ffl"),
            '\u{a0}' => out.push(' '),
            '\u{fffd}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

impl<'d> Font<'d> {
    fn read(document: &'d Document, font: &'d Dictionary, budget: &mut Budget) -> Self {
        let is_composite =
            font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|n| n == b"Type0");
        let encoding = charge_map(document, font, budget)
            .ok()
            .and_then(|()| encoding_of(document, font, is_composite));
        let (widths, width) = if is_composite {
            composite_widths(document, font)
        } else {
            (simple_widths(document, font), WIDTH_DEFAULT)
        };
        Font { encoding, widths, width, is_composite }
    }

    /// The width of a text in sizes of the font, and the number of its characters.
    fn measure(&self, bytes: &[u8]) -> (f32, usize) {
        let of = |code: u16| self.widths.get(&code).copied().unwrap_or(self.width);
        if self.is_composite {
            let codes = bytes.chunks(2).map(|pair| match pair {
                [high, low] => u16::from_be_bytes([*high, *low]),
                rest => rest.first().copied().map_or(0, u16::from),
            });
            return (codes.map(of).sum::<f32>() / UNIT, bytes.len().div_ceil(2));
        }
        (bytes.iter().map(|byte| of(u16::from(*byte))).sum::<f32>() / UNIT, bytes.len())
    }
}

/// Counts what the map of a font unpacks to, before it is read.
fn charge_map(
    document: &Document,
    font: &Dictionary,
    budget: &mut Budget,
) -> Result<(), ReadError> {
    let map = font.get(b"ToUnicode").map(|map| resolve(document, map));
    let Ok(map) = map.and_then(Object::as_stream) else { return Ok(()) };
    budget.unpack(map, MAP_BYTES_MAX).map(drop)
}

/// What the codes of a font stand for; none where a font does not say it: a guess would be stored
/// as if it were a text.
fn encoding_of<'d>(
    document: &'d Document,
    font: &'d Dictionary,
    is_composite: bool,
) -> Option<Encoding<'d>> {
    if let Some(map) = map_of(document, font) {
        return Some(map);
    }
    let is_symbolic = || {
        let about = resolve(document, font.get(b"FontDescriptor").ok()?).as_dict().ok()?;
        let flags = resolve(document, about.get(b"Flags").ok()?).as_i64().ok()?;
        Some(flags & SYMBOLIC != 0 && about.has(b"FontFile2"))
    };
    if !font.has(b"Encoding") && is_symbolic().unwrap_or(false) {
        return None;
    }
    let encoding = font.get_font_encoding_with_limit(document, MAP_BYTES_MAX).ok()?;
    let is_guess = is_composite && !matches!(encoding, Encoding::SimpleEncoding(_));
    (!is_guess).then_some(encoding)
}

/// The font's own map to characters, which says more than what its codes are called.
fn map_of(document: &Document, font: &Dictionary) -> Option<Encoding<'static>> {
    if !font.has(b"ToUnicode") {
        return None;
    }
    let mut bare = font.clone();
    bare.remove(b"Encoding");
    match bare.get_font_encoding_with_limit(document, MAP_BYTES_MAX).ok()? {
        Encoding::UnicodeMapEncoding(map) => Some(Encoding::UnicodeMapEncoding(map)),
        _ => None,
    }
}

fn simple_widths(document: &Document, font: &Dictionary) -> HashMap<u16, f32> {
    let first = font.get(b"FirstChar").map(|first| resolve(document, first));
    let first = first.and_then(Object::as_i64).unwrap_or(0);
    let widths = font.get(b"Widths").map(|widths| resolve(document, widths));
    let widths = widths.and_then(Object::as_array).map_or(&[][..], Vec::as_slice);
    let codes = (0..).map(|at| first.saturating_add(at));
    codes
        .zip(widths.iter().take(WIDTHS_MAX))
        .filter_map(|(code, width)| {
            Some((u16::try_from(code).ok()?, resolve(document, width).as_float().ok()?))
        })
        .collect()
}

/// The widths of a composite font, and the one that all others have.
fn composite_widths(document: &Document, font: &Dictionary) -> (HashMap<u16, f32>, f32) {
    let inner = || {
        let fonts = resolve(document, font.get(b"DescendantFonts").ok()?).as_array().ok()?;
        resolve(document, fonts.first()?).as_dict().ok()
    };
    let Some(inner) = inner() else { return (HashMap::new(), COMPOSITE_WIDTH_DEFAULT) };
    let default = inner.get(b"DW").and_then(Object::as_float).unwrap_or(COMPOSITE_WIDTH_DEFAULT);
    let list = inner.get(b"W").map(|list| resolve(document, list)).and_then(Object::as_array);
    (list.map_or_else(|_| HashMap::new(), |list| listed(document, list)), default)
}

/// `first [w w w]` and `first last w`, one after another.
fn listed(document: &Document, list: &[Object]) -> HashMap<u16, f32> {
    let mut widths = HashMap::new();
    let mut rest = list.iter().map(|object| resolve(document, object));
    while let (Some(first), Some(second)) = (rest.next(), rest.next()) {
        let Some(first) = first.as_i64().ok().and_then(|first| u16::try_from(first).ok()) else {
            break;
        };
        if let Ok(own) = second.as_array() {
            for (code, width) in (first..).zip(own) {
                widths.extend(resolve(document, width).as_float().ok().map(|width| (code, width)));
            }
        } else if let (Some(last), Some(width)) = (second.as_i64().ok(), rest.next())
            && let (Ok(last), Ok(width)) = (u16::try_from(last), width.as_float())
        {
            widths.extend((first..=last).map(|code| (code, width)));
        } else {
            break;
        }
    }
    widths
}
