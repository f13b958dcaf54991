//! Tensors by name, whichever file they came from.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use kapsa_model::EmbedError;
use safetensors::{Dtype, SafeTensors};

use super::{onnx, read, refused, weights_file};
use crate::weights::Matrix;

/// A tensor of 32-bit numbers.
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f32>,
    /// Whether a matrix has a row for each output, as PyTorch keeps them, rather than for each
    /// input.
    pub(crate) by_output: bool,
    /// What all values are multiples of, if they were rounded before.
    pub(crate) step: Option<f32>,
}

/// All tensors of a model. Names are compared by their end, because exporters add prefixes.
pub(crate) struct Tensors(HashMap<String, Tensor>);

impl Tensors {
    pub(crate) fn read(folder: &Path) -> Result<Tensors, EmbedError> {
        let none = || {
            refused(
                format!(
                    "there is neither a model.safetensors nor an ONNX file in {}",
                    folder.display()
                ),
                "",
            )
        };
        let path = weights_file(folder).ok_or_else(none)?;
        let bytes = read(&path)?;
        let named = if path.extension().is_some_and(|end| end == "onnx") {
            onnx::tensors(&bytes)
        } else {
            safe(&bytes)
        };
        named
            .map(Tensors)
            .map_err(|error| refused(format!("{}: {}", path.display(), error.message), ""))
    }

    fn find(&self, name: &str) -> Result<&Tensor, EmbedError> {
        let fits = |key: &str| {
            key == name || key.strip_suffix(name).is_some_and(|front| front.ends_with('.'))
        };
        let mut found = self.0.iter().filter(|(key, _)| fits(key));
        match (found.next(), found.next()) {
            (Some((_, tensor)), None) => Ok(tensor),
            (None, _) => Err(refused(
                format!("the model has no tensor {name}"),
                "check that it is a BERT encoder",
            )),
            _ => Err(refused(format!("the model has several tensors {name}"), "")),
        }
    }

    /// `len` numbers.
    pub(crate) fn vector(&self, name: &str, len: usize) -> Result<Vec<f32>, EmbedError> {
        let tensor = self.find(name)?;
        if tensor.values.len() == len {
            finite(name, &tensor.values)
        } else {
            Err(misshapen(name, &tensor.shape))
        }
    }

    /// Rows of `width` numbers, `rows` of them if that is given.
    pub(crate) fn table(
        &self,
        name: &str,
        rows: Option<usize>,
        width: usize,
    ) -> Result<Vec<f32>, EmbedError> {
        let tensor = self.find(name)?;
        let fits = tensor.shape.len() == 2
            && tensor.shape[1] == width
            && rows.is_none_or(|rows| rows == tensor.shape[0]);
        if fits { finite(name, &tensor.values) } else { Err(misshapen(name, &tensor.shape)) }
    }

    /// The weights of a linear map from `rows` to `columns` numbers.
    pub(crate) fn matrix(
        &self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Matrix<'static>, EmbedError> {
        let name = format!("{name}.weight");
        let tensor = self.find(&name)?;
        let shape = if tensor.by_output { [columns, rows] } else { [rows, columns] };
        if tensor.shape != shape {
            return Err(misshapen(&name, &tensor.shape));
        }
        let mut values = finite(&name, &tensor.values)?;
        if tensor.by_output {
            let old = std::mem::take(&mut values);
            values =
                (0..rows * columns).map(|at| old[(at % columns) * rows + at / columns]).collect();
        }
        Ok(Matrix { rows, columns, values: Cow::Owned(values), step: tensor.step })
    }

    /// What the numbers of a table are multiples of, if they were rounded before.
    pub(crate) fn step(&self, name: &str) -> Option<f32> {
        self.find(name).ok()?.step
    }
}

fn misshapen(name: &str, shape: &[usize]) -> EmbedError {
    refused(format!("the tensor {name} has an unexpected shape {shape:?}"), "")
}

fn finite(name: &str, values: &[f32]) -> Result<Vec<f32>, EmbedError> {
    if values.iter().all(|value| value.is_finite()) {
        Ok(values.to_vec())
    } else {
        Err(refused(format!("the tensor {name} contains values that are not finite"), ""))
    }
}

fn safe(bytes: &[u8]) -> Result<HashMap<String, Tensor>, EmbedError> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| refused(error.to_string(), ""))?;
    let mut named = HashMap::new();
    for (name, view) in file.tensors() {
        let data = view.data();
        let values = match view.dtype() {
            Dtype::F32 => floats(data),
            Dtype::F16 => halves(data).map(half).collect(),
            Dtype::BF16 => halves(data).map(|bits| f32::from_bits(u32::from(bits) << 16)).collect(),
            // Numbers of positions and the like.
            _ => continue,
        };
        named.insert(
            name,
            Tensor { shape: view.shape().to_vec(), values, by_output: true, step: None },
        );
    }
    Ok(named)
}

pub(crate) fn floats(data: &[u8]) -> Vec<f32> {
    data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

pub(crate) fn halves(data: &[u8]) -> impl Iterator<Item = u16> {
    data.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes))
}

/// A number of 16 bits (IEEE 754 binary16).
pub(crate) fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15) << 31, u32::from(bits >> 10) & 31, u32::from(bits) & 1023);
    match exponent {
        0 => f32::from_bits(sign | 0x3f80_0000) * fraction as f32 * 2f32.powi(-24),
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read_as_ieee_754_says() {
        let right = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x3555, 0.333_251_95),
            (0x8000, 0.0),
        ];
        for (bits, value) in right {
            assert_eq!(half(bits), value);
        }
        assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
    }
}
