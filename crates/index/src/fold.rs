//! Folds characters, so that they compare without case and without Latin accents.

/// Replacement for each of `U+00C0..U+0250`, `.` to keep the character, a capital for two letters.
const LATIN: &[u8; 400] = b"\
...............................SaaaaaaAceeeeiiiidnooooo.ouuuuyTy.a.a.a.c.c.c.c.d\
.d.e.e.e.e.e.g.g.g.g.h.h.i.i.i.i.i...j.kq.l.l.l...l.n.n.n..n.o.o.o.O.r.r.r.s.s.s\
.s.t.t.t.u.u.u.u.u.u.w.y..z.z.zsb..b....c...d.....f......kl...n..o...p.....t.t..\
u...y.z.......................a.i.o.u.u.u.u.u..a.a.A...g.k.o.o..j....g...n.a.A.o\
.a.a.e.e.i.i.o.o.r.r.u.u.s.t...h.d...z.a.e.o.o.o.o.ylntj....c..sz......e.j.q.r.y";

/// The same for `U+1E00..U+1F00`.
const LATIN_ADDITIONAL: &[u8; 256] = b"\
.a.b.b.b.c.d.d.d.d.d.e.e.e.e.e.f.g.h.h.h.h.h.i.i.k.k.k.l.l.l.l.m.m.m.n.n.n.n.o.o\
.o.o.p.p.r.r.r.r.s.s.s.s.s.t.t.t.t.u.u.u.u.u.v.v.w.w.w.w.w.x.x.y.z.z.zhtwy.s....\
.a.a.a.a.a.a.a.a.a.a.a.a.e.e.e.e.e.e.e.e.i.i.o.o.o.o.o.o.o.o.o.o.o.o.u.u.u.u.u.u\
.u.y.y.y.y......";

/// Appends `c` in lower case and without a Latin accent.
pub(crate) fn push_folded(c: char, out: &mut String) {
    if c.is_ascii() {
        out.push(c.to_ascii_lowercase());
    } else {
        c.to_lowercase().for_each(|c| push_unaccented(c, out));
    }
}

/// Whether this is a combining accent, which folding drops.
pub(crate) fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

fn push_unaccented(c: char, out: &mut String) {
    if is_combining(c) {
        return;
    }
    match replacement(c) {
        b'.' => out.push(c),
        b'A' => out.push_str(if matches!(c, 'œ') { "oe" } else { "ae" }),
        b'O' => out.push_str("oe"),
        b'S' => out.push_str("ss"),
        b'T' => out.push_str("th"),
        base => out.push(char::from(base)),
    }
}

fn replacement(c: char) -> u8 {
    let code = c as usize;
    match code {
        0xc0..0x250 => LATIN[code - 0xc0],
        0x1e00..0x1f00 => LATIN_ADDITIONAL[code - 0x1e00],
        _ => b'.',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_latin_and_keeps_the_rest() {
        for (input, expected) in [
            ("Éßæœ", "essaeoe"),
            ("Łódź", "lodz"),
            ("İstanbul", "istanbul"),
            ("e\u{301}", "e"),
            ("Việt", "viet"),
            ("ΣΟΦΟΣ", "σοφοσ"),
            ("Ёж", "ёж"),
            ("東", "東"),
        ] {
            let mut out = String::new();
            input.chars().for_each(|c| push_folded(c, &mut out));
            assert_eq!(out, expected, "{input}");
        }
    }
}
