//! Where text stands on a page.

/// A transformation of the plane: `[a b c d e f]`, as a page writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Matrix(pub(super) [f32; 6]);

impl Matrix {
    pub(super) const IDENTITY: Matrix = Matrix([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    pub(super) fn translation(x: f32, y: f32) -> Matrix {
        Matrix([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// First this one, then the other.
    pub(super) fn then(self, other: Matrix) -> Matrix {
        let [a, b, c, d, e, f] = self.0;
        let [oa, ob, oc, od, oe, of] = other.0;
        Matrix([
            a * oa + b * oc,
            a * ob + b * od,
            c * oa + d * oc,
            c * ob + d * od,
            e * oa + f * oc + oe,
            e * ob + f * od + of,
        ])
    }

    pub(super) fn origin(self) -> (f32, f32) {
        (self.0[4], self.0[5])
    }

    /// The direction in which text runs, of length 1, and how large one unit along it is.
    pub(super) fn direction(self) -> (f32, f32, f32) {
        let [a, b, ..] = self.0;
        let length = a.hypot(b);
        if length > 0.0 && length.is_finite() {
            (a / length, b / length, length)
        } else {
            (1.0, 0.0, 0.0)
        }
    }

    /// How large one unit across the text is.
    pub(super) fn height(self) -> f32 {
        self.0[2].hypot(self.0[3])
    }
}
