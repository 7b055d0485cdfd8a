//! Sets of bytes.

use regex_syntax::hir::Class;

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Set([u64; 4]);

impl Set {
    pub(super) const EMPTY: Self = Self([0; 4]);
    /// What `.` means: any byte but a line break.
    pub(super) const ANY: Self = Self([!(1 << b'\n'), !0, !0, !0]);

    pub(super) fn of(class: &Class) -> Self {
        let mut set = Self::EMPTY;
        match class {
            Class::Bytes(bytes) => {
                for range in bytes.iter() {
                    set = set.or(Self::range(range.start(), range.end()));
                }
            }
            Class::Unicode(letters) => {
                for range in letters.iter().filter(|range| range.end().is_ascii()) {
                    set = set.or(Self::range(range.start() as u8, range.end() as u8));
                }
            }
        }
        set
    }

    /// The bytes from one to another, 64 at a time: the table asks for `.` ten thousand times.
    fn range(first: u8, last: u8) -> Self {
        let (first, last) = (u32::from(first), u32::from(last));
        Self(std::array::from_fn(|index| {
            let start = 64 * index as u32;
            let end = start + 63;
            if last < start || first > end {
                return 0;
            }
            u64::MAX << first.saturating_sub(start) & u64::MAX >> end.saturating_sub(last)
        }))
    }

    pub(super) fn with(mut self, byte: u8) -> Self {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
        self
    }

    pub(super) fn or(self, other: Self) -> Self {
        let [a, b, c, d] = self.0;
        let [e, f, g, h] = other.0;
        Self([a | e, b | f, c | g, d | h])
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, two)| one & two != 0)
    }

    pub(super) fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] & (1 << (byte & 63)) != 0
    }

    pub(super) fn bytes(self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(move |byte| self.has(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_all_from_its_first_byte_to_its_last() {
        for (first, last) in [(0, 255), (b'a', b'z'), (63, 64), (64, 127), (0, 0), (255, 255), (10, 200)] {
            let range = Set::range(first, last);
            assert!((0..=u8::MAX).all(|byte| range.has(byte) == (first..=last).contains(&byte)), "{first} {last}");
        }
    }
}
