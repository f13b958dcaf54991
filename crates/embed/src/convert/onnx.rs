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
const NODE_ATTRIBUTE: u64 = 5;
const ATTRIBUTE_NAME: u64 = 1;
const ATTRIBUTE_INT: u64 = 3;
const TENSOR_DIMS: u64 = 1;
const TENSOR_DATA_TYPE: u64 = 2;
const TENSOR_FLOAT_DATA: u64 = 4;
const TENSOR_INT32_DATA: u64 = 5;
const TENSOR_NAME: u64 = 8;
const TENSOR_RAW_DATA: u64 = 9;
const TENSOR_EXTERNAL_DATA: u64 = 13;
const FLOAT: u64 = 1;
const FLOAT16: u64 = 10;
const UINT8: u64 = 2;
const INT8: u64 = 3;
/// What a tensor `X` is called that was rounded to 8 bits, its factor, and the number that stands
/// for zero (`onnxruntime.quantization`).
const QUANTISED: &str = "_quantized";
const SCALE: &str = "_scale";
const ZERO_POINT: &str = "_zero_point";

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
    /// Of a `Gemm`: its matrix has a row for each output.
    by_output: bool,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Every tensor of 32, 16 or 8 bits by its name. A matrix whose name an exporter made up is
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
    let mut named = dequantised(named)?;
    for node in nodes.iter().filter(|node| node.kind == "Gemm" && node.by_output) {
        if let Some(tensor) = node.inputs.get(1).and_then(|matrix| named.get_mut(matrix)) {
            tensor.by_output = true;
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

/// The tensors that were rounded to 8 bits as what they stand for, and the others as they are.
fn dequantised(mut named: HashMap<String, Tensor>) -> Result<HashMap<String, Tensor>, EmbedError> {
    let rounded: Vec<String> =
        named.keys().filter_map(|name| name.strip_suffix(QUANTISED).map(str::to_string)).collect();
    for name in rounded {
        let mut take = |end: &str| named.remove(&format!("{name}{end}"));
        let [Some(mut tensor), Some(scale), zero] =
            [take(QUANTISED), take(SCALE), take(ZERO_POINT)]
        else {
            return Err(refused(format!("the tensor {name} has no scale"), ""));
        };
        let zero = zero.map_or_else(|| vec![0.0], |zero| zero.values);
        let columns = tensor.shape.last().copied().unwrap_or(1).max(1);
        let fits = |values: &[f32]| values.len() == 1 || values.len() == columns;
        if !fits(&scale.values) || !fits(&zero) {
            return Err(refused(format!("the tensor {name} has a scale that does not fit"), ""));
        }
        let of =
            |values: &[f32], at: usize| values[if values.len() == 1 { 0 } else { at % columns }];
        for (at, value) in tensor.values.iter_mut().enumerate() {
            *value = (*value - of(&zero, at)) * of(&scale.values, at);
        }
        tensor.step = (scale.values.len() == 1).then(|| scale.values[0]);
        named.insert(name, tensor);
    }
    Ok(named)
}

/// Pairs of names: a matrix, and the bias added to what is multiplied by it.
fn products(nodes: &[Node], named: &HashMap<String, Tensor>) -> Vec<(String, String)> {
    let mut made: HashMap<&str, &str> = HashMap::new();
    let mut pairs = Vec::new();
    for node in nodes {
        let plain = |input: &'_ String| input.strip_suffix(QUANTISED).unwrap_or(input).len();
        let known = node.inputs.iter().find_map(|input| {
            let name = &input[..plain(input)];
            named.contains_key(name).then_some(name)
        });
        let product = node.inputs.iter().find_map(|input| made.get(input.as_str()).copied());
        match (node.kind.as_str(), known, product, node.outputs.first()) {
            ("MatMul" | "MatMulInteger", Some(matrix), _, Some(output)) => {
                made.insert(output, matrix);
            }
            // What makes a number of the product of integers.
            ("Cast" | "Mul", _, Some(matrix), Some(output)) => {
                made.insert(output, matrix);
            }
            ("Add", Some(bias), Some(matrix), _) => {
                pairs.push((matrix.to_string(), bias.to_string()));
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
            (NODE_ATTRIBUTE, Field::Bytes(bytes)) => node.by_output |= is_trans_b(bytes)?,
            _ => {}
        }
    }
    Ok(node)
}

/// Whether an attribute says that the second matrix of a `Gemm` is transposed.
fn is_trans_b(bytes: &[u8]) -> Result<bool, EmbedError> {
    let (mut is_named, mut is_set) = (false, false);
    for (number, field) in fields(bytes)? {
        match (number, field) {
            (ATTRIBUTE_NAME, Field::Bytes(name)) => is_named = name == b"transB",
            (ATTRIBUTE_INT, Field::Number(number)) => is_set = number != 0,
            _ => {}
        }
    }
    Ok(is_named && is_set)
}

fn tensor(bytes: &[u8]) -> Result<Option<(String, Tensor)>, EmbedError> {
    let (mut name, mut shape, mut kind, mut raw, mut listed) =
        (String::new(), Vec::new(), 0, None, Vec::new());
    let mut integers: Vec<u64> = Vec::new();
    for (number, field) in fields(bytes)? {
        match (number, field) {
            (TENSOR_DIMS, Field::Number(size)) => shape.push(size as usize),
            (TENSOR_DIMS, Field::Bytes(packed)) => {
                let mut packed = Message(packed);
                shape.extend(std::iter::from_fn(|| packed.varint()).map(|size| size as usize));
            }
            (TENSOR_DATA_TYPE, Field::Number(number)) => kind = number,
            (TENSOR_FLOAT_DATA, Field::Bytes(packed)) => listed.extend(floats(packed)),
            (TENSOR_INT32_DATA, Field::Number(number)) => integers.push(number),
            (TENSOR_INT32_DATA, Field::Bytes(packed)) => {
                let mut packed = Message(packed);
                integers.extend(std::iter::from_fn(|| packed.varint()));
            }
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
        (UINT8, Some(raw)) => raw.iter().map(|&value| f32::from(value)).collect(),
        (INT8, Some(raw)) => raw.iter().map(|&value| f32::from(value as i8)).collect(),
        (UINT8 | INT8, None) => integers.iter().map(|&value| value as i64 as f32).collect(),
        _ => return Ok(None),
    };
    let size = shape.iter().try_fold(1usize, |size, &n| size.checked_mul(n));
    if size != Some(values.len()) {
        return Err(refused(
            format!("the tensor {name} does not have the size that it states"),
            "",
        ));
    }
    Ok(Some((name, Tensor { shape, values, by_output: false, step: None })))
}
