//! The body of an answer: all bytes at once, a stream of chunks (a watch: one chunk is one event),
//! or the bytes of another server.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};

/// The connection was dropped before the answer, or the rest of it, could be sent.
///
/// A fault drops a connection; in front of another server so does an error behind the front. A
/// listener that gets this error closes the socket without another byte. A client in this process
/// sees a transport error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disconnected;

impl Disconnected {
    /// The error, for layers that drop connections on purpose.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Default for Disconnected {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Disconnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server dropped the connection")
    }
}

impl Error for Disconnected {}

/// The body of an answer: an [`http_body::Body`] of [`Bytes`].
///
/// A watch answers with a stream in which one chunk is one whole event line, the newline included.
pub struct Body(Kind);

enum Kind {
    Full(Option<Bytes>),
    Stream(Chunks),
    /// An answer that ends by itself, and its length if that is known.
    Transfer(Chunks, Option<u64>),
}

type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, Disconnected>> + Send>>;

impl Body {
    /// A body without bytes.
    #[must_use]
    pub const fn empty() -> Self {
        Self(Kind::Full(None))
    }

    /// A body whose bytes are known.
    #[must_use]
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self(Kind::Full((!bytes.is_empty()).then_some(bytes)))
    }

    /// A body that comes in chunks, and ends, or fails with [`Disconnected`].
    #[must_use]
    pub fn stream(
        stream: impl Stream<Item = Result<Bytes, Disconnected>> + Send + 'static,
    ) -> Self {
        Self(Kind::Stream(Box::pin(stream)))
    }

    /// A body that comes in chunks and is no watch. `length`: in bytes, if it is known.
    pub(crate) fn transfer(
        stream: impl Stream<Item = Result<Bytes, Disconnected>> + Send + 'static,
        length: Option<u64>,
    ) -> Self {
        Self(Kind::Transfer(Box::pin(stream), length))
    }

    /// Whether the bytes are not all known yet: a watch, or an answer of another server that a
    /// proxy passes through.
    #[must_use]
    pub const fn is_stream(&self) -> bool {
        matches!(self.0, Kind::Stream(_) | Kind::Transfer(..))
    }

    /// The same body, each chunk shown to `look` on its way.
    #[cfg(feature = "listen")]
    pub(crate) fn inspect_chunks(
        self,
        look: impl FnMut(&Result<Bytes, Disconnected>) + Send + 'static,
    ) -> Self {
        use futures::StreamExt;
        Self(match self.0 {
            Kind::Full(bytes) => Kind::Full(bytes),
            Kind::Stream(chunks) => Kind::Stream(Box::pin(chunks.inspect(look))),
            Kind::Transfer(chunks, length) => {
                Kind::Transfer(Box::pin(chunks.inspect(look)), length)
            }
        })
    }

    /// All the bytes, if they are known.
    pub(crate) const fn bytes(&self) -> Option<&Bytes> {
        match &self.0 {
            Kind::Full(bytes) => bytes.as_ref(),
            Kind::Stream(_) | Kind::Transfer(..) => None,
        }
    }

    /// Whether this is a watch: it has no end of its own.
    pub(crate) const fn is_watch(&self) -> bool {
        matches!(self.0, Kind::Stream(_))
    }

    /// The chunks of this body as a stream.
    #[must_use]
    pub fn into_stream(self) -> Pin<Box<dyn Stream<Item = Result<Bytes, Disconnected>> + Send>> {
        match self.0 {
            Kind::Full(bytes) => Box::pin(futures::stream::iter(bytes.map(Ok))),
            Kind::Stream(stream) | Kind::Transfer(stream, _) => stream,
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Full(bytes) => {
                f.debug_struct("Body").field("len", &bytes.as_ref().map_or(0, Bytes::len)).finish()
            }
            Kind::Stream(_) | Kind::Transfer(..) => {
                f.debug_struct("Body").field("stream", &true).finish()
            }
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Disconnected;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Disconnected>>> {
        match &mut self.0 {
            Kind::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Stream(stream) | Kind::Transfer(stream, _) => {
                stream.as_mut().poll_next(cx).map_ok(Frame::data)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
            Kind::Transfer(_, Some(length)) => SizeHint::with_exact(*length),
            Kind::Stream(_) | Kind::Transfer(..) => SizeHint::default(),
        }
    }
}
