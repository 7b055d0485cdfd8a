//! Compressed answers of providers that compress without being asked.

use std::io::Write as _;

use bytes::Bytes;
use flate2::write::{GzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

/// Unpacks a stream chunk by chunk.
pub(crate) enum Unpack {
    Gzip(GzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
}

/// One chunk unpacks to this much at most: a bomb is no answer.
const CHUNK_BYTES_MAX: usize = 32 * 1024 * 1024;

impl Unpack {
    /// What a response needs, going by its headers; encodings we do not know pass as they are.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        match headers.get(CONTENT_ENCODING)?.to_str().ok()?.trim() {
            "gzip" | "x-gzip" => Some(Self::Gzip(GzDecoder::new(Vec::new()))),
            "deflate" => Some(Self::Deflate(ZlibDecoder::new(Vec::new()))),
            _ => None,
        }
    }

    /// Unpacks a chunk.
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> Result<Bytes, ()> {
        let mut unpacked = Vec::new();
        // In small pieces, so that the output can be bounded while it grows.
        for piece in chunk.chunks(4 * 1024) {
            match self {
                Self::Gzip(decoder) => {
                    decoder.write_all(piece).and_then(|()| decoder.flush()).map_err(drop)?;
                    unpacked.append(decoder.get_mut());
                }
                Self::Deflate(decoder) => {
                    decoder.write_all(piece).and_then(|()| decoder.flush()).map_err(drop)?;
                    unpacked.append(decoder.get_mut());
                }
            }
            if unpacked.len() > CHUNK_BYTES_MAX {
                return Err(());
            }
        }
        Ok(unpacked.into())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use http::HeaderValue;

    use super::*;

    fn gzip() -> Unpack {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        Unpack::of(&headers).unwrap()
    }

    #[test]
    fn chunks_come_out_as_they_are_flushed() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"data: 1\n\n").unwrap();
        encoder.flush().unwrap();
        let first = std::mem::take(encoder.get_mut());
        encoder.write_all(b"data: 2\n\n").unwrap();
        let second = encoder.finish().unwrap();
        let mut unpack = gzip();
        assert_eq!(unpack.feed(&first).unwrap(), "data: 1\n\n");
        assert_eq!(unpack.feed(&second).unwrap(), "data: 2\n\n");
    }

    #[test]
    fn rubbish_and_bombs_are_refused() {
        assert!(gzip().feed(b"this is not gzip at all").is_err());
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![0; 64 * 1024 * 1024]).unwrap();
        assert!(gzip().feed(&encoder.finish().unwrap()).is_err());
    }
}
