//! The terminal. Printed lines stay; the drawn lines beneath them are temporary.
//!
//! Every write first removes the drawn lines, under one lock, so that printed and drawn lines are never mixed. Nothing
//! is drawn while text is being printed, or in the middle of a line.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::escape;

/// The time without output after which lines are drawn.
const CALM: Duration = Duration::from_millis(250);

/// The assumed width of a terminal that does not report one.
const COLUMNS: usize = 80;

struct Screen {
    drawn: Option<ProgressBar>,
    mid_line: bool,
    printed: Option<Instant>,
}

static SCREEN: Mutex<Screen> = Mutex::new(Screen { drawn: None, mid_line: false, printed: None });

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    fn clear(&mut self) {
        if let Some(drawn) = self.drawn.take() {
            drawn.finish_and_clear();
        }
    }
}

/// Prints on standard output.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut screen = screen();
    screen.clear();
    if !text.is_empty() {
        screen.mid_line = !text.ends_with('\n');
        screen.printed = Some(Instant::now());
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Calls `act` while nothing is drawn on the terminal.
pub(crate) fn cleared<T>(act: impl FnOnce() -> T) -> T {
    let mut screen = screen();
    screen.clear();
    screen.printed = Some(Instant::now());
    act()
}

/// Replaces the drawn lines with `lines`. Does nothing if something was printed within `CALM`, if the last printed line
/// is not complete, or if `lines` is empty.
pub(crate) fn draw(lines: Vec<String>) {
    let mut screen = screen();
    let calm = screen.printed.is_none_or(|at| at.elapsed() >= CALM);
    if screen.mid_line || !calm || lines.is_empty() {
        return;
    }
    let drawn = screen.drawn.get_or_insert_with(|| {
        let style = ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout()).with_style(style)
    });
    drawn.set_message(lines.join("\n"));
    drawn.tick();
}

/// Removes the drawn lines.
pub(crate) fn clear() {
    screen().clear();
}

/// Returns the number of columns of the terminal, or `COLUMNS` if it is unknown.
pub(crate) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(COLUMNS)
}

/// The writer of the log to standard error.
pub(crate) struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = escape::log(&String::from_utf8_lossy(bytes));
        cleared(|| io::stderr().lock().write_all(text.as_bytes()))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}
