//! Bytes that stand in a text as they are.

/// As many bytes as are compared at once.
pub(in crate::classify) const HEAD_BYTES: usize = 8;

/// Some bytes. Most are so few that one comparison does: a loop or a call would cost more.
pub(in crate::classify) struct Literal {
    /// The first of them, of which those under the mask count.
    head: u64,
    mask: u64,
    rest: Box<[u8]>,
    len: u32,
}

impl Literal {
    pub(in crate::classify) fn new(bytes: &[u8]) -> Self {
        let mask = head(&vec![u8::MAX; bytes.len()]);
        Self {
            head: head(bytes),
            mask,
            rest: bytes.get(HEAD_BYTES..).unwrap_or_default().into(),
            len: bytes.len() as u32,
        }
    }

    pub(in crate::classify) fn len(&self) -> usize {
        self.len as usize
    }

    /// The first byte, if there is one.
    pub(in crate::classify) fn first(&self) -> Option<u8> {
        self.head.to_le_bytes().into_iter().next().filter(|_| self.len > 0)
    }

    /// Whether it stands at `at`.
    pub(in crate::classify) fn stands_at(&self, text: &[u8], at: usize) -> bool {
        if self.len == 0 {
            return true;
        }
        let Some(text) = text.get(at..) else { return false };
        (head(text) ^ self.head) & self.mask == 0
            && (self.rest.is_empty() || text.get(HEAD_BYTES..).is_some_and(|text| starts_with(text, &self.rest)))
    }
}

/// The first bytes of a text; zeros where it ends before, which flattened text does not hold.
pub(in crate::classify) fn head(text: &[u8]) -> u64 {
    match text.first_chunk() {
        Some(head) => u64::from_le_bytes(*head),
        None => text.iter().rev().fold(0, |head, byte| (head << 8) | u64::from(*byte)),
    }
}

/// Whether `text` begins so. What is left to compare is short: a loop is faster than a call.
pub(in crate::classify) fn starts_with(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|text| text.iter().zip(start).all(|(a, b)| a == b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_of_any_length_stands_where_its_bytes_do() {
        let text = b"rate limit exceeded";
        for len in 0..=text.len() {
            let literal = Literal::new(&text[..len]);
            assert_eq!(literal.len(), len);
            assert!(literal.stands_at(text, 0), "{len}");
            assert_eq!(literal.stands_at(text, 1), len == 0, "{len}");
            assert_eq!(literal.stands_at(&text[..len.saturating_sub(1)], 0), len == 0, "{len}");
        }
        assert_eq!((Literal::new(b"ab").first(), Literal::new(b"").first()), (Some(b'a'), None));
    }
}
