//! Cuts the bytes of a watch into its events, so that a fault falls between two of them or into
//! one. Pure.

use bytes::{Buf, Bytes, BytesMut};

/// The longest event: an API server's are far shorter.
const MAX_EVENT: usize = 32 * 1024 * 1024;

/// How a content type says where an event ends (k8s.io/apimachinery, pkg/runtime/serializer: the
/// framers of JSON and protobuf).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// JSON: after a line feed.
    Lines,
    /// Protobuf: four bytes of length, big end first, and that number of bytes.
    Lengths,
    /// Unknown: each piece is taken for one event.
    Pieces,
}

impl Framing {
    /// By the `Content-Type` of the answer.
    pub(super) fn of(content_type: Option<&str>) -> Self {
        let essence =
            content_type.unwrap_or("application/json").split(';').next().unwrap_or_default();
        match essence.trim().to_ascii_lowercase().as_str() {
            "application/json" => Self::Lines,
            "application/vnd.kubernetes.protobuf" => Self::Lengths,
            _ => Self::Pieces,
        }
    }
}

/// An event is longer than [`MAX_EVENT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

/// The bytes that have come and are not handed out yet.
#[derive(Debug)]
pub(super) struct Frames {
    framing: Framing,
    held: BytesMut,
    /// The number of held bytes that are known to hold no line feed.
    searched: usize,
}

impl Frames {
    pub(super) fn new(framing: Framing) -> Self {
        Self { framing, held: BytesMut::new(), searched: 0 }
    }

    pub(super) fn feed(&mut self, piece: &[u8]) {
        self.held.extend_from_slice(piece);
    }

    /// The next whole event, if it is there.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, TooLong> {
        let length = match self.framing {
            Framing::Pieces => (!self.held.is_empty()).then_some(self.held.len()),
            Framing::Lines => {
                let unsearched = self.held.get(self.searched..).unwrap_or_default();
                let found = unsearched.iter().position(|&byte| byte == b'\n');
                let length = found.map(|at| self.searched.saturating_add(at).saturating_add(1));
                self.searched = if length.is_some() { 0 } else { self.held.len() };
                length
            }
            Framing::Lengths => {
                let length = self.held.first_chunk().map(|head| u32::from_be_bytes(*head));
                let length = length
                    .map(|length| usize::try_from(length).unwrap_or(usize::MAX).saturating_add(4));
                if length.is_some_and(|length| length > MAX_EVENT) {
                    return Err(TooLong);
                }
                length.filter(|&length| length <= self.held.len())
            }
        };
        match length {
            Some(length) => Ok(Some(self.held.split_to(length).freeze())),
            None if self.held.len() > MAX_EVENT => Err(TooLong),
            None => Ok(None),
        }
    }

    /// The start of an event without an end, at the end of the stream.
    pub(super) fn rest(&mut self) -> Option<Bytes> {
        self.searched = 0;
        self.held.has_remaining().then(|| self.held.split().freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::{Frames, Framing, MAX_EVENT, TooLong};

    /// The events that come of these pieces, and what is left over.
    fn cut(framing: Framing, pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Option<Vec<u8>>) {
        let mut frames = Frames::new(framing);
        let mut events = Vec::new();
        for piece in pieces {
            frames.feed(piece);
            while let Some(event) = frames.next().unwrap() {
                events.push(event.to_vec());
            }
        }
        (events, frames.rest().map(|rest| rest.to_vec()))
    }

    #[test]
    fn lines_are_whole_however_the_bytes_come() {
        let whole = b"{\"a\":1}\n{\"b\":2}\n{\"c\"";
        let expected =
            (vec![b"{\"a\":1}\n".to_vec(), b"{\"b\":2}\n".to_vec()], Some(b"{\"c\"".to_vec()));
        for size in 1..=whole.len() {
            assert_eq!(
                cut(Framing::Lines, &whole.chunks(size).collect::<Vec<_>>()),
                expected,
                "by {size}"
            );
        }
        assert_eq!(cut(Framing::Lines, &[b"x\n"]), (vec![b"x\n".to_vec()], None));
    }

    #[test]
    fn lengths_are_obeyed_however_the_bytes_come_and_a_line_feed_means_nothing() {
        let whole = b"\0\0\0\x03a\nb\0\0\0\0\0\0\0\x02c";
        let expected =
            (vec![b"\0\0\0\x03a\nb".to_vec(), b"\0\0\0\0".to_vec()], Some(b"\0\0\0\x02c".to_vec()));
        for size in 1..=whole.len() {
            assert_eq!(
                cut(Framing::Lengths, &whole.chunks(size).collect::<Vec<_>>()),
                expected,
                "by {size}"
            );
        }
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let mut frames = Frames::new(Framing::Lengths);
        frames.feed(&[0xff; 4]);
        assert_eq!(frames.next(), Err(TooLong));
        let mut frames = Frames::new(Framing::Lines);
        frames.feed(&vec![b'x'; MAX_EVENT]);
        assert_eq!(frames.next(), Ok(None));
        frames.feed(b"x");
        assert_eq!(frames.next(), Err(TooLong));
    }

    #[test]
    fn the_framing_follows_the_content_type() {
        assert_eq!(Framing::of(Some("application/json")), Framing::Lines);
        assert_eq!(Framing::of(Some("application/json;stream=watch")), Framing::Lines);
        let protobuf = "application/vnd.kubernetes.protobuf;stream=watch";
        assert_eq!(Framing::of(Some(protobuf)), Framing::Lengths);
        assert_eq!(Framing::of(Some("application/cbor-seq")), Framing::Pieces);
        assert_eq!(Framing::of(None), Framing::Lines);
    }
}
