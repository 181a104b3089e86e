//! Protobuf's wire format: numbered fields, one after another. Knows no schema.

/// The error in the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) String);

/// A field's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed([u8; 8]),
    Bytes(&'a [u8]),
}

/// The fields of a message, in order. An error is the last item.
pub(super) fn fields(
    message: &[u8],
) -> impl Iterator<Item = Result<(u64, Payload<'_>), Malformed>> {
    let mut rest = message;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = field(&mut rest);
        if field.is_err() {
            rest = &[];
        }
        Some(field)
    })
}

/// The limit of field numbers in protobuf.
const LARGEST_NUMBER: u64 = (1 << 29) - 1;

fn field<'a>(rest: &mut &'a [u8]) -> Result<(u64, Payload<'a>), Malformed> {
    let tag = varint(rest)?;
    let number = tag >> 3;
    if !(1..=LARGEST_NUMBER).contains(&number) {
        return Err(Malformed(format!("proto: illegal tag {number} (wire type {})", tag & 7)));
    }
    let payload = match tag & 7 {
        0 => Payload::Varint(varint(rest)?),
        1 => Payload::Fixed(fixed::<8>(take(rest, 8)?)),
        2 => {
            let length = varint(rest)?;
            Payload::Bytes(take(rest, usize::try_from(length).unwrap_or(usize::MAX))?)
        }
        5 => Payload::Fixed(fixed::<4>(take(rest, 4)?)),
        other => return Err(Malformed(format!("proto: illegal wireType {other}"))),
    };
    Ok((number, payload))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], Malformed> {
    let (taken, left) = rest.split_at_checked(length).ok_or_else(too_short)?;
    *rest = left;
    Ok(taken)
}

fn fixed<const N: usize>(bytes: &[u8]) -> [u8; 8] {
    let mut fixed = [0; 8];
    fixed.iter_mut().zip(bytes.iter().take(N)).for_each(|(to, from)| *to = *from);
    fixed
}

/// Seven bits a byte, lowest first, at most ten bytes.
pub(super) fn varint(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let mut number = 0_u64;
    for shift in (0..70).step_by(7) {
        let (&byte, left) = rest.split_first().ok_or_else(too_short)?;
        *rest = left;
        number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Malformed("proto: integer overflow".to_owned()))
}

fn too_short() -> Malformed {
    Malformed("unexpected EOF".to_owned())
}
