//! The head of a request.

/// What matters in the head of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) method: &'a str,
    pub(super) target: &'a str,
    pub(super) length: Length,
    pub(super) keeps_alive: bool,
    pub(super) expects_continue: bool,
    pub(super) x_fake: Option<&'a str>,
    pub(super) speaks_anthropic: bool,
    pub(super) upgrades: bool,
}

/// How long the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Known(usize),
    Chunked,
}

impl<'a> Head<'a> {
    pub(super) fn parse(head: &'a [u8]) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(head).map_err(|_| "the head is not text")?;
        let mut lines = text.split("\r\n");
        let mut line = lines.next().unwrap_or_default().split(' ');
        let (method, target, version) = match (line.next(), line.next(), line.next(), line.next()) {
            (Some(method), Some(target), Some(version), None) if !method.is_empty() => (method, target, version),
            _ => return Err("the request line is not METHOD TARGET VERSION"),
        };
        let keeps_alive = match version {
            "HTTP/1.1" => true,
            "HTTP/1.0" => false,
            _ => return Err("the version is not HTTP/1.1"),
        };
        let mut head = Self {
            method,
            target,
            length: Length::Known(0),
            keeps_alive,
            expects_continue: false,
            x_fake: None,
            speaks_anthropic: false,
            upgrades: false,
        };
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or("a header has no colon")?;
            head.header(name, value.trim())?;
        }
        Ok(head)
    }

    fn header(&mut self, name: &str, value: &'a str) -> Result<(), &'static str> {
        // Lengths first: most headers are none of these.
        match name.len() {
            6 if name.eq_ignore_ascii_case("x-fake") => self.x_fake = Some(value),
            6 if name.eq_ignore_ascii_case("expect") => {
                self.expects_continue = value.eq_ignore_ascii_case("100-continue");
            }
            7 if name.eq_ignore_ascii_case("upgrade") => self.upgrades = true,
            10 if name.eq_ignore_ascii_case("connection") => {
                let has = |word: &str| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word));
                self.keeps_alive = !has("close") && (self.keeps_alive || has("keep-alive"));
            }
            14 if name.eq_ignore_ascii_case("content-length") && self.length != Length::Chunked => {
                self.length = Length::Known(value.parse().map_err(|_| "content-length is not a number")?);
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                if !value.eq_ignore_ascii_case("chunked") {
                    return Err("transfer-encoding is not chunked");
                }
                self.length = Length::Chunked;
            }
            17 if name.eq_ignore_ascii_case("anthropic-version") => self.speaks_anthropic = true,
            _ => {}
        }
        Ok(())
    }
}

/// The length in the first line of a chunk.
pub(super) fn chunked_length(line: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(line).ok()?;
    let digits = text.split(';').next()?.trim();
    usize::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
}
