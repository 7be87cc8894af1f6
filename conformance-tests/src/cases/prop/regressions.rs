//! Scripts that are kept. A failure of the comparison prints one that can be put here as it is.

use holdover_core::store::SessionStatus::*;
use holdover_core::store::Wake::*;

use crate::script::{
    At::*, Begin::*, By::*, First::*, Item, Leave::*, Life::*, Look::*, Named::*, Op::*, Part::*, Run::*, Script,
    Span, Text::*, When::*, Who::*, list,
};

pub(super) const REGRESSIONS: [(&str, fn() -> Script); 1] = [("an answer that nobody has read", unread_answer)];

fn unread_answer() -> Script {
    list([
        (First, Create { who: A, begin: Held, items: list([]), life: AnyLife }),
        (First, Pass(Span::Moment)),
    ])
}
