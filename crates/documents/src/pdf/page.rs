//! What a page draws: the texts it shows, with the state that says where.

use std::collections::HashSet;

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Object, ObjectId, Stream};

use super::fonts::Fonts;
use super::layout::{Layout, Piece};
use super::matrix::Matrix;
use super::resolve;
use super::unpack::{Budget, Unpacked};
use crate::error::ReadError;

/// What one page, or one form that it draws, may unpack to, in bytes: each operation takes some
/// hundred bytes when it is read.
const CONTENT_BYTES_MAX: usize = 8 << 20;
/// Deepest form within a form.
const FORM_DEPTH_MAX: usize = 8;
/// Most states that are kept at once.
const STATES_MAX: usize = 256;
/// Deepest node of the tree of pages that resources are looked for in.
const PARENTS_MAX: usize = 64;
/// Size of a unit of an adjustment.
const ADJUSTMENT_UNIT: f32 = 1000.0;

/// The pages of a document.
pub(super) struct Pages<'d> {
    document: &'d Document,
    /// What contents may still unpack to, over all pages.
    budget: Budget,
    /// Forms that cannot be drawn: they are unpacked once.
    failed: HashSet<*const Stream>,
}

/// A form that is drawn.
struct Form<'d> {
    stream: &'d Stream,
    resources: Option<&'d Dictionary>,
    place: Matrix,
}

/// What a page is drawn with.
#[derive(Clone)]
struct State<'d> {
    place: Matrix,
    font: Option<&'d Dictionary>,
    size: f32,
    char_space: f32,
    word_space: f32,
    scale: f32,
    leading: f32,
    rise: f32,
}

impl State<'_> {
    fn at(place: Matrix) -> Self {
        State {
            place,
            font: None,
            size: 1.0,
            char_space: 0.0,
            word_space: 0.0,
            scale: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }
}

impl<'d> Pages<'d> {
    pub(super) fn new(document: &'d Document, budget: Budget) -> Self {
        Pages { document, budget, failed: HashSet::new() }
    }

    /// The text of a page.
    pub(super) fn read(
        &mut self,
        page: ObjectId,
        fonts: &mut Fonts<'d>,
    ) -> Result<String, ReadError> {
        let content = self.content_of(page)?;
        let mut layout = Layout::default();
        let resources = self.resources_of(page);
        self.draw(&content, resources, Matrix::IDENTITY, 0, (fonts, &mut layout))?;
        Ok(layout.finish())
    }

    /// What the streams of a page say, one after another. One that is damaged is what it is.
    fn content_of(&mut self, page: ObjectId) -> Result<Vec<u8>, ReadError> {
        let mut content = Vec::new();
        for id in self.document.get_page_contents(page) {
            let Ok(stream) = self.document.get_object(id).and_then(Object::as_stream) else {
                continue;
            };
            let part = match self.budget.unpack(stream, CONTENT_BYTES_MAX)? {
                Unpacked::Content(part) => Some(part),
                Unpacked::Damaged => Some(stream.content.clone()),
                Unpacked::TooLarge => None,
            };
            let fits = |part: &Vec<u8>| content.len() + part.len() < CONTENT_BYTES_MAX;
            let part = part.filter(fits).ok_or_else(|| {
                let reason = format!("it unpacks to more than {CONTENT_BYTES_MAX} bytes");
                ReadError::broken("its content cannot be read", reason)
            })?;
            content.extend_from_slice(&part);
            content.push(b'\n');
        }
        Ok(content)
    }

    /// What a form draws; none where that cannot be read.
    fn unpacked(&mut self, form: &Form<'d>) -> Result<Option<Vec<u8>>, ReadError> {
        let known = std::ptr::from_ref(form.stream);
        if self.failed.contains(&known) {
            return Ok(None);
        }
        if let Unpacked::Content(content) = self.budget.unpack(form.stream, CONTENT_BYTES_MAX)? {
            return Ok(Some(content));
        }
        self.failed.insert(known);
        Ok(None)
    }

    /// The resources of a page: its own, or those of a node above it.
    fn resources_of(&self, page: ObjectId) -> Option<&'d Dictionary> {
        let mut node = self.document.get_dictionary(page).ok()?;
        for _ in 0..PARENTS_MAX {
            if let Ok(found) = node.get(b"Resources") {
                return resolve(self.document, found).as_dict().ok();
            }
            node = resolve(self.document, node.get(b"Parent").ok()?).as_dict().ok()?;
        }
        None
    }

    fn draw(
        &mut self,
        content: &[u8],
        resources: Option<&'d Dictionary>,
        place: Matrix,
        depth: usize,
        (fonts, layout): (&mut Fonts<'d>, &mut Layout),
    ) -> Result<(), ReadError> {
        let content = Content::decode(content)
            .map_err(|error| ReadError::broken("its content cannot be read", error))?;
        let mut pen = Pen::new(self.document, resources, State::at(place));
        for operation in &content.operations {
            if operation.operator == "Do" {
                if depth < FORM_DEPTH_MAX
                    && let Some(form) = pen.form(operation)
                    && let Some(content) = self.unpacked(&form)?
                {
                    self.draw(
                        &content,
                        form.resources.or(resources),
                        form.place,
                        depth + 1,
                        (&mut *fonts, &mut *layout),
                    )?;
                }
                continue;
            }
            pen.run(operation, fonts, layout);
        }
        Ok(())
    }
}

/// Where the next text goes.
struct Pen<'d> {
    document: &'d Document,
    resources: Option<&'d Dictionary>,
    state: State<'d>,
    saved: Vec<State<'d>>,
    text: Matrix,
    line: Matrix,
}

impl<'d> Pen<'d> {
    fn new(document: &'d Document, resources: Option<&'d Dictionary>, state: State<'d>) -> Self {
        let (text, line) = (Matrix::IDENTITY, Matrix::IDENTITY);
        Pen { document, resources, state, saved: Vec::new(), text, line }
    }

    fn resource(&self, kind: &[u8], name: &[u8]) -> Option<&'d Object> {
        let all = resolve(self.document, self.resources?.get(kind).ok()?).as_dict().ok()?;
        Some(resolve(self.document, all.get(name).ok()?))
    }

    /// The form that an operation draws.
    fn form(&self, operation: &Operation) -> Option<Form<'d>> {
        let name = operation.operands.first()?.as_name().ok()?;
        let stream = self.resource(b"XObject", name)?.as_stream().ok()?;
        if stream.dict.get(b"Subtype").and_then(Object::as_name).ok()? != b"Form" {
            return None;
        }
        let own = stream.dict.get(b"Resources").map(|own| resolve(self.document, own));
        let matrix = stream.dict.get(b"Matrix").map(|matrix| resolve(self.document, matrix));
        let matrix = matrix.and_then(Object::as_array).ok().and_then(|list| six(list));
        let place = matrix.unwrap_or(Matrix::IDENTITY).then(self.state.place);
        Some(Form { stream, resources: own.and_then(Object::as_dict).ok(), place })
    }

    fn run(&mut self, operation: &Operation, fonts: &mut Fonts<'d>, layout: &mut Layout) {
        let operands = operation.operands.as_slice();
        let number = |at: usize| operands.get(at).and_then(|o| o.as_float().ok()).unwrap_or(0.0);
        match operation.operator.as_str() {
            "q" if self.saved.len() < STATES_MAX => self.saved.push(self.state.clone()),
            "Q" => self.state = self.saved.pop().unwrap_or_else(|| self.state.clone()),
            "cm" => {
                if let Some(matrix) = six(operands) {
                    self.state.place = matrix.then(self.state.place);
                }
            }
            "BT" => (self.text, self.line) = (Matrix::IDENTITY, Matrix::IDENTITY),
            "Tf" => {
                let name = operands.first().and_then(|name| name.as_name().ok());
                let font = name.and_then(|name| self.resource(b"Font", name));
                self.state.font = font.and_then(|font| font.as_dict().ok());
                self.state.size = number(1);
            }
            "Tc" => self.state.char_space = number(0),
            "Tw" => self.state.word_space = number(0),
            "Tz" => self.state.scale = number(0) / 100.0,
            "TL" => self.state.leading = number(0),
            "Ts" => self.state.rise = number(0),
            "Td" => self.next_line(number(0), number(1)),
            "TD" => {
                self.state.leading = -number(1);
                self.next_line(number(0), number(1));
            }
            "Tm" => {
                if let Some(matrix) = six(operands) {
                    (self.text, self.line) = (matrix, matrix);
                }
            }
            "T*" => self.next_line(0.0, -self.state.leading),
            "Tj" => self.show(operands.first(), fonts, layout),
            "'" => {
                self.next_line(0.0, -self.state.leading);
                self.show(operands.first(), fonts, layout);
            }
            "\"" => {
                (self.state.word_space, self.state.char_space) = (number(0), number(1));
                self.next_line(0.0, -self.state.leading);
                self.show(operands.get(2), fonts, layout);
            }
            "TJ" => {
                let list = operands.first().and_then(|list| list.as_array().ok());
                for part in list.map_or(&[][..], Vec::as_slice) {
                    match part.as_float() {
                        Ok(back) => self.advance(-back / ADJUSTMENT_UNIT * self.state.size),
                        Err(_) => self.show(Some(part), fonts, layout),
                    }
                }
            }
            _ => {}
        }
    }

    fn next_line(&mut self, x: f32, y: f32) {
        self.line = Matrix::translation(x, y).then(self.line);
        self.text = self.line;
    }

    /// Moves along the text.
    fn advance(&mut self, width: f32) {
        self.text = Matrix::translation(width * self.state.scale, 0.0).then(self.text);
    }

    fn here(&self) -> Matrix {
        Matrix::translation(0.0, self.state.rise).then(self.text).then(self.state.place)
    }

    fn show(&mut self, text: Option<&Object>, fonts: &mut Fonts<'d>, layout: &mut Layout) {
        let Some(bytes) = text.and_then(|text| text.as_str().ok()) else { return };
        let shown = fonts.show(self.state.font, bytes);
        let place = self.here();
        let (x, y, _) = place.direction();
        let size = self.state.size.abs() * place.height();
        self.advance(
            shown.width * self.state.size
                + shown.count as f32 * self.state.char_space
                + shown.spaces as f32 * self.state.word_space,
        );
        layout.add(Piece {
            text: shown.text,
            start: place.origin(),
            end: self.here().origin(),
            direction: (x, y),
            size,
        });
    }
}

/// Six numbers as a matrix.
fn six(list: &[Object]) -> Option<Matrix> {
    let mut numbers = [0.0; 6];
    for (at, number) in numbers.iter_mut().enumerate() {
        *number = list.get(at)?.as_float().ok()?;
    }
    Some(Matrix(numbers))
}
