//! The weights in an ONNX file: as much of the format as that takes (onnx.proto3, `ModelProto`;
//! Protocol Buffers wire format).

use std::collections::HashMap;

use kapsa_model::EmbedError;

use super::refused;
use super::tensors::{Tensor, floats, half, halves};

/// Fields of the messages that are read.
const MODEL_GRAPH: u64 = 7;
const GRAPH_NODE: u64 = 1;
const GRAPH_INITIALIZER: u64 = 5;
const NODE_INPUT: u64 = 1;
const NODE_OUTPUT: u64 = 2;
const NODE_OP_TYPE: u64 = 4;
const TENSOR_DIMS: u64 = 1;
const TENSOR_DATA_TYPE: u64 = 2;
const TENSOR_FLOAT_DATA: u64 = 4;
const TENSOR_NAME: u64 = 8;
const TENSOR_RAW_DATA: u64 = 9;
const TENSOR_EXTERNAL_DATA: u64 = 13;
const FLOAT: u64 = 1;
const FLOAT16: u64 = 10;

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of one message.
struct Message<'a>(&'a [u8]);

impl<'a> Message<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn bytes(&mut self, len: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u64, Field<'a>)> {
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Number(self.varint()?),
            1 => Field::Bytes(self.bytes(8)?),
            2 => {
                let len = self.varint()?;
                Field::Bytes(self.bytes(len)?)
            }
            5 => Field::Bytes(self.bytes(4)?),
            _ => return None,
        };
        Some((key >> 3, field))
    }
}

/// Every field, or an error when the bytes do not come out even.
fn fields(bytes: &[u8]) -> Result<Vec<(u64, Field<'_>)>, EmbedError> {
    let mut message = Message(bytes);
    let mut out = Vec::new();
    while !message.0.is_empty() {
        out.push(
            message
                .field()
                .ok_or_else(|| refused("it is not an ONNX file, or it is damaged".into(), ""))?,
        );
    }
    Ok(out)
}

#[derive(Default)]
struct Node {
    kind: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Every tensor of 32- or 16-bit numbers by its name. A matrix whose name an exporter made up is
/// called after the bias that is added to its product.
pub(crate) fn tensors(bytes: &[u8]) -> Result<HashMap<String, Tensor>, EmbedError> {
    let (mut named, mut nodes) = (HashMap::new(), Vec::new());
    for (number, field) in fields(bytes)? {
        let (MODEL_GRAPH, Field::Bytes(graph)) = (number, field) else { continue };
        for (number, field) in fields(graph)? {
            match (number, field) {
                (GRAPH_NODE, Field::Bytes(bytes)) => nodes.push(node(bytes)?),
                (GRAPH_INITIALIZER, Field::Bytes(bytes)) => named.extend(tensor(bytes)?),
                _ => {}
            }
        }
    }
    for (matrix, bias) in products(&nodes, &named) {
        let name = bias.strip_suffix(".bias").map(|front| format!("{front}.weight"));
        if let (Some(name), Some(tensor)) = (name, named.remove(&matrix)) {
            named.insert(name, tensor);
        }
    }
    Ok(named)
}

/// Pairs of names: a matrix, and the bias added to what is multiplied by it.
fn products(nodes: &[Node], named: &HashMap<String, Tensor>) -> Vec<(String, String)> {
    let mut made: HashMap<&str, &str> = HashMap::new();
    let mut pairs = Vec::new();
    for node in nodes {
        let known = node.inputs.iter().find(|input| named.contains_key(*input));
        match (node.kind.as_str(), known, node.outputs.first()) {
            ("MatMul", Some(matrix), Some(output)) => {
                made.insert(output, matrix);
            }
            ("Add", Some(bias), _) => {
                let matrix = node.inputs.iter().find_map(|input| made.get(input.as_str()));
                pairs.extend(matrix.map(|matrix| (matrix.to_string(), bias.clone())));
            }
            _ => {}
        }
    }
    pairs
}

fn node(bytes: &[u8]) -> Result<Node, EmbedError> {
    let mut node = Node::default();
    for (number, field) in fields(bytes)? {
        match (number, field) {
            (NODE_INPUT, Field::Bytes(name)) => node.inputs.push(text(name)),
            (NODE_OUTPUT, Field::Bytes(name)) => node.outputs.push(text(name)),
            (NODE_OP_TYPE, Field::Bytes(name)) => node.kind = text(name),
            _ => {}
        }
    }
    Ok(node)
}

fn tensor(bytes: &[u8]) -> Result<Option<(String, Tensor)>, EmbedError> {
    let (mut name, mut shape, mut kind, mut raw, mut listed) =
        (String::new(), Vec::new(), 0, None, Vec::new());
    for (number, field) in fields(bytes)? {
        match (number, field) {
            (TENSOR_DIMS, Field::Number(size)) => shape.push(size as usize),
            (TENSOR_DIMS, Field::Bytes(packed)) => {
                let mut packed = Message(packed);
                shape.extend(std::iter::from_fn(|| packed.varint()).map(|size| size as usize));
            }
            (TENSOR_DATA_TYPE, Field::Number(number)) => kind = number,
            (TENSOR_FLOAT_DATA, Field::Bytes(packed)) => listed.extend(floats(packed)),
            (TENSOR_NAME, Field::Bytes(bytes)) => name = text(bytes),
            (TENSOR_RAW_DATA, Field::Bytes(bytes)) => raw = Some(bytes),
            (TENSOR_EXTERNAL_DATA, _) => {
                return Err(refused("its weights are in another file".into(), ""));
            }
            _ => {}
        }
    }
    let values = match (kind, raw) {
        (FLOAT, Some(raw)) => floats(raw),
        (FLOAT, None) => listed,
        (FLOAT16, Some(raw)) => halves(raw).map(half).collect(),
        _ => return Ok(None),
    };
    let size = shape.iter().try_fold(1usize, |size, &n| size.checked_mul(n));
    if size != Some(values.len()) {
        return Err(refused(
            format!("the tensor {name} does not have the size that it states"),
            "",
        ));
    }
    Ok(Some((name, Tensor { shape, values, by_output: false })))
}
