//! Pictures that people and tools show to a model (requirement A51).

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// The maximum size of a picture, in bytes.
pub const IMAGE_BYTES_MAX: usize = 1 << 20;

/// The maximum total size of the pictures in one message, in bytes. The same limit applies to all pictures
/// that the model sees in one request.
pub const IMAGES_BYTES_MAX: usize = 5 << 20;

/// The maximum number of pictures in one message. The same limit applies to all pictures that the model sees
/// in one request. Providers limit the number of pictures, and some refuse large pictures beyond 20.
pub const IMAGES_MAX: usize = 20;

/// The estimated size of a picture in tokens. Providers scale large pictures down, so the number of bytes
/// does not matter.
pub const IMAGE_TOKENS: u64 = 1_600;

/// The format of a picture. Some providers do not read every format; for example, not all read GIF.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ImageType {
    /// PNG.
    #[serde(rename = "image/png")]
    Png,
    /// JPEG.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// GIF. Models see at most the first frame of an animation.
    #[serde(rename = "image/gif")]
    Gif,
    /// WebP.
    #[serde(rename = "image/webp")]
    Webp,
}

impl ImageType {
    /// Detects the format from the first bytes. Returns `None` if the bytes are not a picture that models can
    /// read.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }

    /// Returns the media type, such as `image/png`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// A picture of at most [`IMAGE_BYTES_MAX`] bytes, kept as base64 text because wire protocols need it. The
/// limit is also checked when a stored picture is read.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Image {
    media_type: ImageType,
    data: Arc<str>,
}

/// The stored form of a picture. The stored media type is ignored and detected again.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Deserialize)]
struct Written {
    /// The picture, in base64.
    data: String,
}

impl TryFrom<Written> for Image {
    type Error = InvalidImage;

    fn try_from(written: Written) -> Result<Self, InvalidImage> {
        Self::from_base64(&written.data)
    }
}

/// The reason why data is not a valid picture or list of pictures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidImage {
    /// The bytes do not start like any known picture format.
    #[error("is no picture that models read: PNG, JPEG, GIF or WebP")]
    Unknown,
    /// The text is not base64.
    #[error("is not in base 64")]
    NotBase64,
    /// A picture is larger than [`IMAGE_BYTES_MAX`].
    #[error("a picture has {0} bytes, at most {IMAGE_BYTES_MAX} are allowed")]
    TooLarge(usize),
    /// The pictures together are larger than [`IMAGES_BYTES_MAX`].
    #[error("the pictures have {0} bytes together, at most {IMAGES_BYTES_MAX} are allowed")]
    TooManyBytes(usize),
    /// There are more than [`IMAGES_MAX`] pictures.
    #[error("there are {0} pictures, at most {IMAGES_MAX} are allowed")]
    TooMany(usize),
}

impl Image {
    /// Creates a picture from its bytes.
    ///
    /// # Errors
    /// Fails if the bytes are not a picture that models can read, or if there are more than [`IMAGE_BYTES_MAX`] of
    /// them.
    pub fn new(bytes: &[u8]) -> Result<Self, InvalidImage> {
        if bytes.len() > IMAGE_BYTES_MAX {
            return Err(InvalidImage::TooLarge(bytes.len()));
        }
        let media_type = ImageType::of(bytes).ok_or(InvalidImage::Unknown)?;
        Ok(Self { media_type, data: STANDARD.encode(bytes).into() })
    }

    /// Creates a picture from base64 text. The format is detected from the bytes.
    ///
    /// # Errors
    /// Fails as [`new`](Self::new) does, or if the text is not base64.
    pub fn from_base64(text: &str) -> Result<Self, InvalidImage> {
        // The length is checked before decoding, because the text may be of any size.
        if text.len() / 4 * 3 > IMAGE_BYTES_MAX + 3 {
            return Err(InvalidImage::TooLarge(text.len() / 4 * 3));
        }
        Self::new(&STANDARD.decode(text).map_err(|_| InvalidImage::NotBase64)?)
    }

    /// Returns the format of the picture.
    pub fn media_type(&self) -> ImageType {
        self.media_type
    }

    /// Returns the bytes of the picture as base64 text.
    pub fn base64(&self) -> &str {
        &self.data
    }

    /// Returns the size of the picture in bytes.
    pub fn bytes(&self) -> usize {
        let padding = self.data.bytes().rev().take_while(|byte| *byte == b'=').count();
        (self.data.len() / 4 * 3).saturating_sub(padding)
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({self})")
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} bytes", self.media_type.as_str(), self.bytes())
    }
}

/// The pictures of one message: at most [`IMAGES_BYTES_MAX`] bytes together. There are at most
/// [`IMAGES_MAX`], unless they were read from the store.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Image>")]
pub struct Images(Vec<Image>);

impl TryFrom<Vec<Image>> for Images {
    type Error = InvalidImage;

    /// Accepts any number of stored pictures, unless they are too large together. The model sees only those
    /// within the limits.
    fn try_from(images: Vec<Image>) -> Result<Self, InvalidImage> {
        Self::bounded(images)
    }
}

impl Images {
    /// Returns an empty list.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Collects pictures in this order.
    ///
    /// # Errors
    /// Fails if there are more than [`IMAGES_MAX`] pictures, or if they have more than [`IMAGES_BYTES_MAX`] bytes
    /// together.
    pub fn of(images: impl IntoIterator<Item = Image>) -> Result<Self, InvalidImage> {
        let images: Vec<Image> = images.into_iter().collect();
        if images.len() > IMAGES_MAX {
            return Err(InvalidImage::TooMany(images.len()));
        }
        Self::bounded(images)
    }

    fn bounded(images: Vec<Image>) -> Result<Self, InvalidImage> {
        match images.iter().map(Image::bytes).sum() {
            bytes if bytes > IMAGES_BYTES_MAX => Err(InvalidImage::TooManyBytes(bytes)),
            _ => Ok(Self(images)),
        }
    }

    /// Returns the pictures before the first one that would exceed the limits on number and total size.
    pub fn first_of(images: impl IntoIterator<Item = Image>) -> Self {
        let mut room = Room::default();
        Self(images.into_iter().take_while(|image| room.takes(image)).collect())
    }

    /// Returns true if there are no pictures.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the pictures, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Image> {
        self.0.iter()
    }

    pub(crate) fn newest(&self, many: usize) -> Self {
        Self(self.0.iter().skip(self.0.len().saturating_sub(many)).cloned().collect())
    }
}

impl<'a> IntoIterator for &'a Images {
    type Item = &'a Image;
    type IntoIter = std::slice::Iter<'a, Image>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The remaining room for pictures: at most [`IMAGES_MAX`] of them, with [`IMAGES_BYTES_MAX`] bytes together.
/// Once a picture does not fit, no room is left.
pub(crate) struct Room {
    many: usize,
    bytes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { many: IMAGES_MAX, bytes: IMAGES_BYTES_MAX }
    }
}

impl Room {
    /// Returns true if no more pictures fit: the maximum number is reached, or an earlier picture did not
    /// fit.
    pub(crate) fn is_full(&self) -> bool {
        self.many == 0
    }

    /// Reserves room for this picture. Returns false if it does not fit.
    pub(crate) fn takes(&mut self, image: &Image) -> bool {
        match (self.many.checked_sub(1), self.bytes.checked_sub(image.bytes())) {
            (Some(many), Some(bytes)) => {
                *self = Self { many, bytes };
                true
            }
            (None, _) | (_, None) => {
                self.many = 0;
                false
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn png(bytes: usize) -> Image {
        let mut data = b"\x89PNG\r\n\x1a\n".to_vec();
        data.resize(bytes, 0);
        Image::new(&data).unwrap()
    }

    #[test]
    fn a51_a_picture_is_known_by_its_bytes_and_bounded() {
        for (bytes, media_type) in [
            (&b"\x89PNG\r\n\x1a\n..."[..], "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF....WEBPVP8 ", "image/webp"),
        ] {
            let image = Image::new(bytes).unwrap();
            assert_eq!((image.media_type().as_str(), image.bytes()), (media_type, bytes.len()));
            assert_eq!(Image::from_base64(image.base64()), Ok(image));
        }
        assert_eq!(Image::new(b"%PDF-1.7"), Err(InvalidImage::Unknown));
        assert_eq!(Image::new(b""), Err(InvalidImage::Unknown));
        assert_eq!(Image::from_base64("no base 64!"), Err(InvalidImage::NotBase64));
        assert_eq!(png(IMAGE_BYTES_MAX).bytes(), IMAGE_BYTES_MAX);
        assert_eq!(
            Image::new(&vec![0; IMAGE_BYTES_MAX + 1]),
            Err(InvalidImage::TooLarge(IMAGE_BYTES_MAX + 1))
        );
        assert!(matches!(Image::from_base64(&"A".repeat(4 << 20)), Err(InvalidImage::TooLarge(_))));
        let whole = png(IMAGE_BYTES_MAX);
        assert_eq!(Image::from_base64(whole.base64()).as_ref(), Ok(&whole));
        assert!(Images::of(vec![whole.clone(); 5]).is_ok());
        assert_eq!(Images::of(vec![whole; 6]), Err(InvalidImage::TooManyBytes(6 << 20)));
    }

    #[test]
    fn a51_what_is_read_as_a_picture_is_held_to_the_bounds_too() {
        let whole = Images::of([png(9), png(IMAGE_BYTES_MAX)]).unwrap();
        let written = serde_json::to_value(&whole).unwrap();
        assert_eq!(written[0], serde_json::json!({ "media_type": "image/png", "data": "iVBORw0KGgoA" }));
        assert_eq!(serde_json::from_value::<Images>(written).unwrap(), whole);
        let called = r#"[{ "media_type": "image/gif", "data": "iVBORw0KGgo=" }]"#;
        let read: Images = serde_json::from_str(called).unwrap();
        assert_eq!(read.iter().map(Image::media_type).collect::<Vec<_>>(), [ImageType::Png]);

        let large = STANDARD.encode(vec![0x89; IMAGE_BYTES_MAX + 1]);
        let refused = |data: &str| {
            let written = serde_json::json!([{ "media_type": "image/png", "data": data }]);
            serde_json::from_value::<Images>(written).unwrap_err().to_string()
        };
        assert!(refused(&large).contains("at most 1048576 are allowed"), "{}", refused(&large));
        assert!(refused("JVBERi0xLjc=").contains("no picture that models read"));
        assert!(refused("iVBORw0KGgo").contains("not in base 64"));
        let written = |image: Image, many: usize| serde_json::to_string(&vec![image; many]).unwrap();
        let refused =
            serde_json::from_str::<Images>(&written(png(IMAGE_BYTES_MAX), 6)).unwrap_err().to_string();
        assert!(refused.contains("6291456 bytes together"), "{refused}");
        assert_eq!(Images::of(vec![png(9); IMAGES_MAX + 1]), Err(InvalidImage::TooMany(21)));
        let stored: Images = serde_json::from_str(&written(png(9), IMAGES_MAX + 1)).unwrap();
        assert_eq!(
            stored.iter().count(),
            IMAGES_MAX + 1,
            "what was written before they were counted is read"
        );
    }
}
